package ecosystem;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.core.http.HttpHeaderName;
import com.azure.core.http.HttpRequest;
import com.azure.core.http.policy.HttpPipelinePolicy;
import com.azure.storage.common.StorageSharedKeyCredential;
import com.azure.storage.file.share.ShareClient;
import com.azure.storage.file.share.ShareDirectoryClient;
import com.azure.storage.file.share.ShareFileClient;
import com.azure.storage.file.share.ShareServiceClient;
import com.azure.storage.file.share.ShareServiceClientBuilder;
import com.azure.storage.file.share.models.ShareErrorCode;
import com.azure.storage.file.share.models.ShareFileItem;
import com.azure.storage.file.share.models.ShareStorageException;
import com.azure.storage.file.share.specialized.ShareLeaseClientBuilder;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.util.List;
import org.junit.jupiter.api.Test;

class ShareTest {
    private final ShareClient share = service().createShare(Server.unique());

    /** This SDK keeps no port and no path of a file endpoint. So it is given the account's host name, and sent to the port afterwards. */
    static ShareServiceClient service() {
        URI served = URI.create(Server.FILE_ENDPOINT);
        String host = Server.ACCOUNT + ".file.localhost";
        HttpPipelinePolicy toThePort = (call, next) -> {
            HttpRequest request = call.getHttpRequest();
            String path = request.getUrl().toString().substring(("http://" + host).length());
            request.setUrl("http://" + served.getAuthority() + path).setHeader(HttpHeaderName.HOST, host);
            return next.process();
        };
        StorageSharedKeyCredential key = new StorageSharedKeyCredential(Server.ACCOUNT, Server.KEY);
        return new ShareServiceClientBuilder().endpoint("http://" + host).credential(key).addPolicy(toThePort).buildClient();
    }

    @Test
    void aTreeOfFiles() {
        ShareDirectoryClient folder = share.createDirectory("Folder");
        byte[] content = Server.pattern(9 << 20);
        ShareFileClient file = folder.createFile("Data.bin", content.length);
        file.upload(new ByteArrayInputStream(content), content.length, null);
        ByteArrayOutputStream got = new ByteArrayOutputStream();
        // Names are found whatever their case.
        share.getDirectoryClient("folder").getFileClient("DATA.BIN").download(got);
        assertArrayEquals(content, got.toByteArray());
        List<String> names = folder.listFilesAndDirectories().stream().map(ShareFileItem::getName).toList();
        assertEquals(List.of("Data.bin"), names);
        ShareFileClient moved = file.rename("moved.bin");
        assertEquals(content.length, moved.getProperties().getContentLength());
        assertFalse(file.exists());
    }

    @Test
    void leasesAndSnapshots() {
        ShareFileClient file = share.getRootDirectoryClient().createFile("one", 4);
        String taken = share.createSnapshot().getSnapshot();
        share.getRootDirectoryClient().createFile("two", 4);
        // Listed and not read: this SDK does not name the snapshot when it reads a file of one.
        var past = share.getSnapshotClient(taken).getRootDirectoryClient().listFilesAndDirectories();
        assertEquals(List.of("one"), past.stream().map(ShareFileItem::getName).toList());
        var holder = new ShareLeaseClientBuilder().fileClient(file).buildClient();
        holder.acquireLease();
        var refused = assertThrows(ShareStorageException.class, file::delete);
        assertEquals(ShareErrorCode.fromString("LeaseIdMissing"), refused.getErrorCode());
        holder.releaseLease();
        file.delete();
    }
}
