package ecosystem;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.util.BinaryData;
import com.azure.core.util.Context;
import com.azure.storage.blob.BlobServiceClientBuilder;
import com.azure.storage.common.ParallelTransferOptions;
import com.azure.storage.common.StorageSharedKeyCredential;
import com.azure.storage.file.datalake.DataLakeDirectoryClient;
import com.azure.storage.file.datalake.DataLakeFileClient;
import com.azure.storage.file.datalake.DataLakeFileSystemClient;
import com.azure.storage.file.datalake.DataLakeFileSystemClientBuilder;
import com.azure.storage.file.datalake.DataLakeServiceClient;
import com.azure.storage.file.datalake.DataLakeServiceClientBuilder;
import com.azure.storage.file.datalake.models.AccessControlChangeResult;
import com.azure.storage.file.datalake.models.DataLakeRequestConditions;
import com.azure.storage.file.datalake.models.DataLakeStorageException;
import com.azure.storage.file.datalake.models.ListPathsOptions;
import com.azure.storage.file.datalake.models.PathAccessControlEntry;
import com.azure.storage.file.datalake.models.PathItem;
import com.azure.storage.file.datalake.models.PathPermissions;
import com.azure.storage.file.datalake.models.PathRemoveAccessControlEntry;
import com.azure.storage.file.datalake.options.FileParallelUploadOptions;
import com.azure.storage.file.datalake.options.PathUpdateAccessControlRecursiveOptions;
import com.azure.storage.file.datalake.sas.DataLakeServiceSasSignatureValues;
import com.azure.storage.file.datalake.sas.PathSasPermission;
import com.azure.storage.file.datalake.specialized.DataLakeLeaseClient;
import com.azure.storage.file.datalake.specialized.DataLakeLeaseClientBuilder;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.time.OffsetDateTime;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LakeTest {
    private static final String ALICE = "3a0c3f44-0b0f-4c3b-9b7e-1c8f0a5b7d11";

    private final DataLakeServiceClient service = new DataLakeServiceClientBuilder()
            .endpoint(Server.LAKE_ENDPOINT)
            .credential(new StorageSharedKeyCredential(Server.LAKE_ACCOUNT, Server.KEY))
            .buildClient();
    private DataLakeFileSystemClient files;

    @BeforeEach
    void makeFileSystem() {
        files = service.createFileSystem(Server.unique());
    }

    private static String refused(Runnable act) {
        return assertThrows(DataLakeStorageException.class, act::run).getErrorCode();
    }

    private DataLakeFileClient write(String path, String text) {
        DataLakeFileClient file = files.getFileClient(path);
        file.upload(BinaryData.fromString(text), true);
        return file;
    }

    private static String read(DataLakeFileClient file) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        file.read(bytes);
        return bytes.toString();
    }

    private List<String> names(boolean recursive) {
        return files.listPaths(new ListPathsOptions().setRecursive(recursive), null).stream().map(PathItem::getName).toList();
    }

    @Test
    void whatIsAppendedIsSeenWhenItIsFlushed() {
        DataLakeFileClient file = files.createFile("deep/er/file");
        file.append(new ByteArrayInputStream("world".getBytes()), 6, 5);
        assertEquals("InvalidFlushPosition", refused(() -> file.flush(11, true)));
        file.append(new ByteArrayInputStream("hello ".getBytes()), 0, 6);
        assertEquals("", read(file));
        file.flush(11, true);
        assertEquals("hello world", read(file));
        assertTrue(files.getDirectoryClient("deep/er").getProperties().isDirectory());
    }

    @Test
    void aLargeFileGoesUpInPieces() {
        byte[] content = Server.pattern((9 << 20) + 11);
        DataLakeFileClient file = files.getFileClient("large file.bin");
        ParallelTransferOptions pieces =
                new ParallelTransferOptions().setBlockSizeLong(1L << 20).setMaxSingleUploadSizeLong(1L << 20).setMaxConcurrency(4);
        file.uploadWithResponse(
                new FileParallelUploadOptions(BinaryData.fromBytes(content)).setParallelTransferOptions(pieces), null, Context.NONE);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        file.read(bytes);
        assertArrayEquals(content, bytes.toByteArray());
    }

    @Test
    void aRenameTakesAllBelowWithIt() {
        write("from/a", "a");
        String etag = write("from/sub/b", "b").getProperties().getETag();
        write("full/c", "c");
        DataLakeDirectoryClient to = files.getDirectoryClient("from").rename(null, "to");
        assertEquals("b", read(files.getFileClient("to/sub/b")));
        assertEquals(etag, files.getFileClient("to/sub/b").getProperties().getETag());
        assertFalse(files.getFileClient("from/sub/b").exists());
        assertEquals("PathAlreadyExists", refused(() -> to.rename(null, "full")));
        assertEquals("SourcePathNotFound", refused(() -> files.getFileClient("nowhere").rename(null, "else")));
        files.getFileClient("to/a").rename(null, "full/c");
        assertEquals("a", read(files.getFileClient("full/c")));
        DataLakeRequestConditions stale = new DataLakeRequestConditions().setIfMatch("\"0x1\"");
        assertEquals(
                "SourceConditionNotMet",
                refused(() -> files.getFileClient("full/c").renameWithResponse(null, "d", stale, null, null, Context.NONE)));
    }

    @Test
    void aRenameReachesAnotherFileSystem() {
        write("d/one", "1");
        write("d/sub/two", "2");
        DataLakeFileSystemClient other = service.createFileSystem(Server.unique());
        files.getDirectoryClient("d").rename(other.getFileSystemName(), "e");
        assertEquals("2", read(other.getFileClient("e/sub/two")));
        assertFalse(files.getDirectoryClient("d").exists());
    }

    @Test
    void conditionsHold() {
        DataLakeFileClient file = files.createFile("one");
        String first = file.getProperties().getETag();
        assertEquals("PathAlreadyExists", refused(() -> files.createFile("one", false)));
        files.createFile("one", true);
        DataLakeRequestConditions stale = new DataLakeRequestConditions().setIfMatch(first);
        assertEquals("ConditionNotMet", refused(() -> file.deleteWithResponse(stale, null, Context.NONE)));
    }

    @Test
    void listsAreSetInheritedAndChangedBelow() {
        for (String path : List.of("d/a", "d/b", "d/sub/c")) {
            write(path, path);
        }
        DataLakeDirectoryClient top = files.getDirectoryClient("d");
        String list = "user::rwx,group::r-x,other::---,default:user::rwx,default:group::r-x,default:user:" + ALICE
                + ":r-x,default:mask::r-x,default:other::---";
        top.setAccessControlList(PathAccessControlEntry.parseList(list), null, null);
        DataLakeFileClient heir = files.createFile("d/heir");
        assertTrue(PathAccessControlEntry.serializeList(heir.getAccessControl().getAccessControlList())
                .contains("user:" + ALICE + ":r-x"));
        AccessControlChangeResult changed = top.updateAccessControlRecursiveWithResponse(
                        new PathUpdateAccessControlRecursiveOptions(PathAccessControlEntry.parseList("user:" + ALICE + ":rw-"))
                                .setBatchSize(2),
                        null,
                        Context.NONE)
                .getValue();
        assertEquals(2, changed.getCounters().getChangedDirectoriesCount());
        assertEquals(4, changed.getCounters().getChangedFilesCount());
        DataLakeFileClient deep = files.getFileClient("d/sub/c");
        assertTrue(PathAccessControlEntry.serializeList(deep.getAccessControl().getAccessControlList())
                .contains("user:" + ALICE + ":rw-"));
        top.removeAccessControlRecursive(PathRemoveAccessControlEntry.parseList("user:" + ALICE));
        assertFalse(PathAccessControlEntry.serializeList(deep.getAccessControl().getAccessControlList()).contains(ALICE));
        deep.setPermissions(PathPermissions.parseOctal("0640"), null, null);
        assertEquals("0640", deep.getAccessControl().getPermissions().toString());
    }

    @Test
    void aLeaseKeepsOthersOut() {
        DataLakeFileClient file = write("leased", "text");
        DataLakeLeaseClient holder = new DataLakeLeaseClientBuilder().fileClient(file).buildClient();
        String id = holder.acquireLease(60);
        assertEquals("LeaseIdMissing", refused(() -> file.append(new ByteArrayInputStream("!".getBytes()), 4, 1)));
        assertEquals("LeaseIdMissing", refused(file::delete));
        DataLakeRequestConditions held = new DataLakeRequestConditions().setLeaseId(id);
        file.appendWithResponse(new ByteArrayInputStream("!".getBytes()), 4, 1, null, id, null, Context.NONE);
        file.flushWithResponse(5, false, false, null, held, null, Context.NONE);
        holder.releaseLease();
        assertEquals("text!", read(file));
        file.delete();
    }

    @Test
    void listingsAndDeletesAndTheOtherDoor() {
        for (String path : List.of("a/1", "a/2", "a/sub/3", "b/4", "c")) {
            write(path, path);
        }
        assertEquals(List.of("a", "a/1", "a/2", "a/sub", "a/sub/3", "b", "b/4", "c"), names(true));
        int pages = 0;
        for (var page : files.listPaths(new ListPathsOptions().setRecursive(true).setMaxResults(3), null).iterableByPage()) {
            assertTrue(page.getValue().size() <= 3);
            pages++;
        }
        assertEquals(3, pages);
        assertEquals("DirectoryNotEmpty", refused(files.getDirectoryClient("a")::delete));
        files.getDirectoryClient("a").deleteRecursively();
        new BlobServiceClientBuilder()
                .endpoint(Server.LAKE_ENDPOINT)
                .credential(new StorageSharedKeyCredential(Server.LAKE_ACCOUNT, Server.KEY))
                .buildClient()
                .getBlobContainerClient(files.getFileSystemName())
                .getBlobClient("b/new/5")
                .upload(BinaryData.fromString("five"));
        assertEquals("five", read(files.getFileClient("b/new/5")));
        assertEquals(List.of("b", "b/4", "b/new", "b/new/5", "c"), names(true));
    }

    @Test
    void aSasForADirectoryOpensWhatIsBelow() {
        write("d/sub/in", "within");
        write("e/out", "without");
        String sas = files.getDirectoryClient("d").generateSas(new DataLakeServiceSasSignatureValues(
                OffsetDateTime.now().plusHours(1), new PathSasPermission().setReadPermission(true).setListPermission(true)));
        assertTrue(sas.contains("sr=d") && sas.contains("sdd=1"), sas);
        DataLakeFileSystemClient reader = new DataLakeFileSystemClientBuilder()
                .endpoint(Server.LAKE_ENDPOINT)
                .fileSystemName(files.getFileSystemName())
                .sasToken(sas)
                .buildClient();
        assertEquals("within", read(reader.getFileClient("d/sub/in")));
        assertThrows(DataLakeStorageException.class, () -> read(reader.getFileClient("e/out")));
        assertEquals("AuthorizationPermissionMismatch", refused(reader.getFileClient("d/sub/in")::delete));
        assertEquals(
                List.of("d/sub", "d/sub/in"),
                reader.listPaths(new ListPathsOptions().setPath("d").setRecursive(true), null).stream()
                        .map(PathItem::getName)
                        .toList());
    }
}
