package ecosystem;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.util.ToolRunner;
import org.junit.Before;
import org.junit.Test;

/** What a person types: `hadoop fs`, over ABFS. */
public class FsShellTest {
    private static final String ALICE = "3a0c3f44-0b0f-4c3b-9b7e-1c8f0a5b7d11";

    private final Configuration configuration = new Configuration();
    private String root;

    @Before
    public void makeFileSystem() throws Exception {
        configuration.addResource("azure-auth-keys.xml");
        configuration.setBoolean("fs.azure.createRemoteFileSystemDuringInitialization", true);
        root = "abfs://shell" + UUID.randomUUID().toString().substring(0, 8) + "@devstorelake1.dfs.core.windows.net";
        FileSystem.get(new java.net.URI(root), configuration);
    }

    /** The output of a command that has to succeed. */
    private String run(String... words) throws Exception {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        assertEquals(Arrays.toString(words) + ": " + said, 0, exit(said, words));
        return said.toString(StandardCharsets.UTF_8);
    }

    private int exit(ByteArrayOutputStream said, String... words) throws Exception {
        String[] spelt = Arrays.stream(words).map(word -> word.startsWith("/") && !Files.exists(Path.of(word)) ? root + word : word)
                .toArray(String[]::new);
        PrintStream before = System.out;
        System.setOut(new PrintStream(said, true, StandardCharsets.UTF_8));
        try {
            return ToolRunner.run(configuration, new FsShell(), spelt);
        } finally {
            System.setOut(before);
        }
    }

    private int exit(String... words) throws Exception {
        return exit(new ByteArrayOutputStream(), words);
    }

    @Test
    public void filesGoThereAndBack() throws Exception {
        Path here = Files.createTempDirectory("lazuli-shell");
        byte[] content = new byte[9_000_001];
        for (int at = 0; at < content.length; at++) {
            content[at] = (byte) (at * 31 / 7);
        }
        Path large = Files.write(here.resolve("large"), content);
        Path small = Files.writeString(here.resolve("small"), "hello\n");
        run("-mkdir", "-p", "/warehouse/raw");
        run("-put", large.toString(), small.toString(), "/warehouse/raw");
        run("-appendToFile", small.toString(), "/warehouse/raw/small");
        assertEquals("hello\nhello\n", run("-cat", "/warehouse/raw/small"));
        run("-get", "/warehouse/raw/large", here.resolve("back").toString());
        assertArrayEquals(content, Files.readAllBytes(here.resolve("back")));
        String listed = run("-ls", "-R", "/warehouse");
        assertTrue(listed, listed.contains("9000001") && listed.contains("/warehouse/raw/small"));
        assertTrue(run("-count", "/warehouse").trim().matches("2\\s+2\\s+9000013\\s+.*"));
        assertTrue(run("-du", "-s", "/warehouse").startsWith("9000013"));
        run("-touchz", "/warehouse/empty");
        assertEquals(0, exit("-test", "-z", "/warehouse/empty"));
        assertEquals("regular file 12", run("-stat", "%F %b", "/warehouse/raw/small").trim());
    }

    @Test
    public void directoriesMoveAndGo() throws Exception {
        run("-mkdir", "-p", "/a/deep", "/there");
        run("-touchz", "/a/deep/file", "/a/other");
        run("-mv", "/a", "/b");
        assertNotEquals(0, exit("-test", "-e", "/a"));
        assertEquals(0, exit("-test", "-f", "/b/deep/file"));
        // Into a directory that is there, as mv has it.
        run("-mv", "/b", "/there");
        assertEquals(0, exit("-test", "-f", "/there/b/deep/file"));
        run("-cp", "/there/b", "/copied");
        assertEquals(0, exit("-test", "-f", "/copied/deep/file"));
        assertNotEquals("a directory that has something in it", 0, exit("-rmdir", "/copied"));
        assertNotEquals(0, exit("-rm", "/copied"));
        run("-rm", "-r", "-skipTrash", "/copied");
        assertNotEquals(0, exit("-test", "-e", "/copied"));
        assertNotEquals(0, exit("-mv", "/nowhere", "/else"));
    }

    @Test
    public void listsAreSetAndShown() throws Exception {
        run("-mkdir", "/d");
        run("-setfacl", "-m", "user:" + ALICE + ":r-x,default:user:" + ALICE + ":r-x", "/d");
        run("-touchz", "/d/heir");
        String shown = run("-getfacl", "/d/heir");
        assertTrue(shown, shown.contains("user:" + ALICE + ":r-x"));
        run("-setfacl", "-R", "-x", "user:" + ALICE, "/d");
        assertFalse(run("-getfacl", "/d/heir").contains("user:" + ALICE));
        run("-setfacl", "-b", "/d");
        assertFalse(run("-getfacl", "/d").contains(ALICE));
        run("-chmod", "640", "/d/heir");
        assertTrue(run("-ls", "/d").contains("-rw-r-----"));
        run("-chown", ALICE, "/d/heir");
        assertTrue(run("-ls", "/d").contains(ALICE));
    }
}
