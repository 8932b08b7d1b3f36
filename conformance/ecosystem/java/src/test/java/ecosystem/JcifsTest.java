package ecosystem;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import jcifs.CIFSContext;
import jcifs.CIFSException;
import jcifs.config.PropertyConfiguration;
import jcifs.context.BaseContext;
import jcifs.smb.NtlmPasswordAuthenticator;
import jcifs.smb.SmbFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** jcifs-ng: a tree of files up, down, listed, renamed and deleted, signed, in each dialect that it speaks. It encrypts in none. */
class JcifsTest {
    private static CIFSContext context(String dialect, String key) throws CIFSException {
        Properties properties = new Properties();
        properties.setProperty("jcifs.smb.client.minVersion", dialect);
        properties.setProperty("jcifs.smb.client.maxVersion", dialect);
        properties.setProperty("jcifs.smb.client.signingEnforced", "true");
        properties.setProperty("jcifs.smb.client.dfs.disabled", "true");
        return new BaseContext(new PropertyConfiguration(properties))
                .withCredentials(new NtlmPasswordAuthenticator("AZURE", Server.ACCOUNT, key));
    }

    private static String url(String path) {
        return "smb://127.0.0.1:" + Server.SMB_PORT + "/" + path;
    }

    private static List<String> names(SmbFile directory) throws Exception {
        String[] names = directory.list();
        Arrays.sort(names);
        return List.of(names);
    }

    @ParameterizedTest
    @ValueSource(strings = {"SMB202", "SMB210", "SMB300", "SMB302", "SMB311"})
    void tree(String dialect) throws Exception {
        String name = Server.unique();
        ShareTest.service().createShare(name);
        CIFSContext context = context(dialect, Server.KEY);
        try (SmbFile deep = new SmbFile(url(name + "/tree/deep/"), context)) {
            deep.mkdirs();
            for (int at = 0; at < Server.LENGTHS.length; at++) {
                try (SmbFile file = new SmbFile(url(name + "/tree/deep/" + at), context);
                        OutputStream out = file.openOutputStream()) {
                    out.write(Server.pattern(Server.LENGTHS[at]));
                }
            }
            assertEquals(List.of("0", "1", "2", "3", "4"), names(deep));
            for (int at = 0; at < Server.LENGTHS.length; at++) {
                try (SmbFile file = new SmbFile(url(name + "/tree/deep/" + at), context);
                        SmbFile moved = new SmbFile(url(name + "/tree/moved" + at), context)) {
                    assertEquals(Server.LENGTHS[at], file.length());
                    try (InputStream in = file.openInputStream()) {
                        assertArrayEquals(Server.pattern(Server.LENGTHS[at]), in.readAllBytes(), file.getPath());
                    }
                    file.renameTo(moved);
                }
            }
            assertEquals(List.of(), names(deep));
            try (SmbFile old = new SmbFile(url(name + "/tree/deep/4"), context);
                    SmbFile moved = new SmbFile(url(name + "/tree/moved4"), context);
                    InputStream in = moved.openInputStream()) {
                assertFalse(old.exists());
                assertArrayEquals(Server.pattern(3_000_000), in.readAllBytes());
            }
        }
        try (SmbFile tree = new SmbFile(url(name + "/tree/"), context);
                SmbFile root = new SmbFile(url(name + "/"), context)) {
            tree.delete();
            assertEquals(List.of(), names(root));
        }
        context.close();
    }

    @Test
    void strangers() throws Exception {
        CIFSContext context = context("SMB311", "wrong");
        try (SmbFile root = new SmbFile(url("any/"), context)) {
            assertThrows(CIFSException.class, root::list);
        }
        context.close();
    }
}
