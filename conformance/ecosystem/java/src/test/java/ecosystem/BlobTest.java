package ecosystem;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.core.util.BinaryData;
import com.azure.core.util.Context;
import com.azure.storage.blob.BlobClient;
import com.azure.storage.blob.BlobClientBuilder;
import com.azure.storage.blob.BlobContainerClient;
import com.azure.storage.blob.BlobServiceClient;
import com.azure.storage.blob.BlobServiceClientBuilder;
import com.azure.storage.blob.batch.BlobBatchClientBuilder;
import com.azure.storage.blob.models.BlobErrorCode;
import com.azure.storage.blob.models.BlobItem;
import com.azure.storage.blob.models.BlobRange;
import com.azure.storage.blob.models.BlobRequestConditions;
import com.azure.storage.blob.models.BlobStorageException;
import com.azure.storage.blob.models.BlockListType;
import com.azure.storage.blob.models.DeleteSnapshotsOptionType;
import com.azure.storage.blob.models.ListBlobsOptions;
import com.azure.storage.blob.models.PageRange;
import com.azure.storage.blob.models.ParallelTransferOptions;
import com.azure.storage.blob.options.BlobParallelUploadOptions;
import com.azure.storage.blob.sas.BlobSasPermission;
import com.azure.storage.blob.sas.BlobServiceSasSignatureValues;
import com.azure.storage.blob.specialized.AppendBlobClient;
import com.azure.storage.blob.specialized.BlobLeaseClient;
import com.azure.storage.blob.specialized.BlobLeaseClientBuilder;
import com.azure.storage.blob.specialized.PageBlobClient;
import java.io.ByteArrayInputStream;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class BlobTest {
    private final BlobServiceClient service =
            new BlobServiceClientBuilder().connectionString(Server.CONNECTION_STRING).buildClient();
    private BlobContainerClient container;

    @BeforeEach
    void makeContainer() {
        container = service.createBlobContainer(Server.unique());
    }

    private static BlobErrorCode refused(Runnable act) {
        return assertThrows(BlobStorageException.class, act::run).getErrorCode();
    }

    @Test
    void aLargeBlobGoesUpInBlocks() {
        byte[] content = Server.pattern((20 << 20) + 17);
        BlobClient blob = container.getBlobClient("folder/large file.bin");
        ParallelTransferOptions blocks =
                new ParallelTransferOptions().setBlockSizeLong(1L << 20).setMaxSingleUploadSizeLong(1L << 20).setMaxConcurrency(4);
        blob.uploadWithResponse(
                new BlobParallelUploadOptions(BinaryData.fromBytes(content)).setParallelTransferOptions(blocks), null, Context.NONE);
        assertArrayEquals(content, blob.downloadContent().toBytes());
        assertEquals(21, blob.getBlockBlobClient().listBlocks(BlockListType.ALL).getCommittedBlocks().size());
    }

    @Test
    void aStaleETagIsRefused() {
        BlobClient blob = container.getBlobClient("one");
        blob.upload(BinaryData.fromString("first"));
        String etag = blob.getProperties().getETag();
        blob.upload(BinaryData.fromString("second"), true);
        BlobParallelUploadOptions stale = new BlobParallelUploadOptions(BinaryData.fromString("third"))
                .setRequestConditions(new BlobRequestConditions().setIfMatch(etag));
        assertEquals(BlobErrorCode.CONDITION_NOT_MET, refused(() -> blob.uploadWithResponse(stale, null, Context.NONE)));
        assertEquals(BlobErrorCode.BLOB_ALREADY_EXISTS, refused(() -> blob.upload(BinaryData.fromString("fourth"))));
        assertEquals("second", blob.downloadContent().toString());
    }

    @Test
    void aLeaseKeepsOthersOut() {
        BlobClient blob = container.getBlobClient("leased");
        blob.upload(BinaryData.fromString("text"));
        BlobLeaseClient holder = new BlobLeaseClientBuilder().blobClient(blob).buildClient();
        holder.acquireLease(60);
        BlobLeaseClient other = new BlobLeaseClientBuilder().blobClient(blob).buildClient();
        assertEquals(BlobErrorCode.LEASE_ALREADY_PRESENT, refused(() -> other.acquireLease(60)));
        assertEquals(BlobErrorCode.LEASE_ID_MISSING, refused(blob::delete));
        holder.releaseLease();
        blob.delete();
    }

    @Test
    void listingsComeInPages() {
        for (int at = 0; at < 25; at++) {
            container.getBlobClient("d%d/n%02d".formatted(at % 2, at)).upload(BinaryData.fromString(""));
        }
        List<String> names = new ArrayList<>();
        int pages = 0;
        for (var page : container.listBlobs(new ListBlobsOptions().setMaxResultsPerPage(10), null).iterableByPage()) {
            page.getElements().forEach(item -> names.add(item.getName()));
            pages++;
        }
        assertEquals(25, names.size());
        assertEquals(3, pages);
        List<BlobItem> top = container.listBlobsByHierarchy("/", new ListBlobsOptions(), null).stream().toList();
        assertEquals(List.of("d0/", "d1/"), top.stream().map(BlobItem::getName).toList());
        assertTrue(top.get(0).isPrefix());
    }

    @Test
    void aSasForReadersDoesNotWrite() {
        BlobClient blob = container.getBlobClient("shared");
        blob.upload(BinaryData.fromString("for readers"));
        String sas = blob.generateSas(new BlobServiceSasSignatureValues(
                OffsetDateTime.now().plusHours(1), new BlobSasPermission().setReadPermission(true)));
        BlobClient reader = new BlobClientBuilder().endpoint(blob.getBlobUrl() + "?" + sas).buildClient();
        assertEquals("for readers", reader.downloadContent().toString());
        assertEquals(BlobErrorCode.AUTHORIZATION_PERMISSION_MISMATCH, refused(reader::delete));
    }

    @Test
    void pagesAndAppends() {
        PageBlobClient pages = container.getBlobClient("disk").getPageBlobClient();
        pages.create(8 << 20);
        byte[] page = Server.pattern(512);
        pages.uploadPages(new PageRange().setStart(4096).setEnd(4607), new ByteArrayInputStream(page));
        var ranges = pages.listPageRanges(new BlobRange(0)).stream().toList();
        assertEquals(1, ranges.size());
        assertEquals(4096, ranges.get(0).getRange().getOffset());
        AppendBlobClient log = container.getBlobClient("log").getAppendBlobClient();
        log.create();
        log.appendBlock(new ByteArrayInputStream("one ".getBytes()), 4);
        log.appendBlock(new ByteArrayInputStream("two".getBytes()), 3);
        assertEquals("one two", log.downloadContent().toString());
    }

    @Test
    void metadataTagsSnapshotsAndBatches() {
        BlobClient blob = container.getBlobClient("past");
        blob.upload(BinaryData.fromString("before"));
        blob.setMetadata(Map.of("owner", "ada"));
        blob.setTags(Map.of("project", "lazuli"));
        var snapshot = blob.createSnapshot();
        blob.upload(BinaryData.fromString("after"), true);
        assertEquals("before", snapshot.downloadContent().toString());
        assertEquals("ada", snapshot.getProperties().getMetadata().get("owner"));
        assertEquals(BlobErrorCode.SNAPSHOTS_PRESENT, refused(blob::delete));
        container.getBlobClient("other").upload(BinaryData.fromString(""));
        var batch = new BlobBatchClientBuilder(service).buildClient();
        List<String> both = List.of(blob.getBlobUrl(), container.getBlobClient("other").getBlobUrl());
        batch.deleteBlobs(both, DeleteSnapshotsOptionType.INCLUDE).forEach(answer -> assertEquals(202, answer.getStatusCode()));
        assertFalse(blob.exists());
    }
}
