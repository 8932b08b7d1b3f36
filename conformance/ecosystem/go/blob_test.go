package ecosystem

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
)

// connectionString names the server under test. A missing one is a mistake of the caller, not a reason to skip.
func connectionString(t *testing.T) string {
	text := os.Getenv("LAZULI_CONNECTION_STRING")
	if text == "" {
		t.Fatal("LAZULI_CONNECTION_STRING is not set: use ./test ecosystem")
	}
	return text
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func unique(prefix string) string {
	return fmt.Sprintf("%s%d", prefix, time.Now().UnixNano())
}

func pattern(length int) []byte {
	content := make([]byte, length)
	for at := range content {
		content[at] = byte(at * 31 / 7)
	}
	return content
}

func newContainer(t *testing.T) *container.Client {
	client := must(azblob.NewClientFromConnectionString(connectionString(t), nil))(t)
	name := unique("go")
	must(client.CreateContainer(context.Background(), name, nil))(t)
	return client.ServiceClient().NewContainerClient(name)
}

func TestBlobUploadedInParallelBlocks(t *testing.T) {
	ctx, within := context.Background(), newContainer(t)
	content := pattern(20<<20 + 17)
	client := within.NewBlockBlobClient("folder/large file.bin")
	options := &blockblob.UploadStreamOptions{BlockSize: 1 << 20, Concurrency: 8}
	must(client.UploadStream(ctx, bytes.NewReader(content), options))(t)

	got := make([]byte, len(content))
	must(client.DownloadBuffer(ctx, got, &blob.DownloadBufferOptions{BlockSize: 3 << 20, Concurrency: 4}))(t)
	if !bytes.Equal(got, content) {
		t.Fatal("other bytes came back")
	}
	part := must(client.DownloadStream(ctx, &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 1 << 20, Count: 1000}}))(t)
	read := must(io.ReadAll(part.Body))(t)
	if !bytes.Equal(read, content[1<<20:1<<20+1000]) {
		t.Fatal("another range came back")
	}
	list := must(client.GetBlockList(ctx, blockblob.BlockListTypeAll, nil))(t)
	if len(list.CommittedBlocks) != 21 || len(list.UncommittedBlocks) != 0 {
		t.Fatalf("%d committed, %d uncommitted blocks", len(list.CommittedBlocks), len(list.UncommittedBlocks))
	}
}

func TestBlobConditions(t *testing.T) {
	ctx, client := context.Background(), newContainer(t).NewBlockBlobClient("one")
	first := must(client.UploadBuffer(ctx, []byte("first"), nil))(t)
	must(client.UploadBuffer(ctx, []byte("second"), &blockblob.UploadBufferOptions{AccessConditions: matches(first.ETag)}))(t)
	_, err := client.UploadBuffer(ctx, []byte("third"), &blockblob.UploadBufferOptions{AccessConditions: matches(first.ETag)})
	if !bloberror.HasCode(err, bloberror.ConditionNotMet) {
		t.Fatalf("a stale ETag was answered %v", err)
	}
	none := azcore.ETagAny
	absent := &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &none}}
	_, err = client.UploadBuffer(ctx, []byte("fourth"), &blockblob.UploadBufferOptions{AccessConditions: absent})
	if !bloberror.HasCode(err, bloberror.BlobAlreadyExists) {
		t.Fatalf("an existing blob was answered %v", err)
	}
}

func matches(etag *azcore.ETag) *blob.AccessConditions {
	return &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: etag}}
}

func TestBlobLease(t *testing.T) {
	ctx, client := context.Background(), newContainer(t).NewBlockBlobClient("leased")
	must(client.UploadBuffer(ctx, []byte("text"), nil))(t)
	holder := must(lease.NewBlobClient(client, nil))(t)
	must(holder.AcquireLease(ctx, 60, nil))(t)
	other := must(lease.NewBlobClient(client, nil))(t)
	if _, err := other.AcquireLease(ctx, 60, nil); !bloberror.HasCode(err, bloberror.LeaseAlreadyPresent) {
		t.Fatalf("a second lease was answered %v", err)
	}
	if _, err := client.Delete(ctx, nil); !bloberror.HasCode(err, bloberror.LeaseIDMissing) {
		t.Fatalf("a delete without the lease was answered %v", err)
	}
	held := &blob.AccessConditions{LeaseAccessConditions: &blob.LeaseAccessConditions{LeaseID: holder.LeaseID()}}
	must(client.SetMetadata(ctx, map[string]*string{"Written": text("by the holder")}, &blob.SetMetadataOptions{AccessConditions: held}))(t)
	must(holder.ReleaseLease(ctx, nil))(t)
	must(client.Delete(ctx, nil))(t)
}

func text(value string) *string { return &value }

func TestBlobListings(t *testing.T) {
	ctx, within := context.Background(), newContainer(t)
	for at := range 25 {
		must(within.NewBlockBlobClient(fmt.Sprintf("d%d/n%02d", at%2, at)).UploadBuffer(ctx, nil, nil))(t)
	}
	size, seen, pages := int32(10), []string{}, 0
	for pager := within.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: &size}); pager.More(); pages++ {
		page := must(pager.NextPage(ctx))(t)
		for _, item := range page.Segment.BlobItems {
			seen = append(seen, *item.Name)
		}
	}
	if len(seen) != 25 || pages != 3 {
		t.Fatalf("%d names in %d pages", len(seen), pages)
	}
	top := must(within.NewListBlobsHierarchyPager("/", nil).NextPage(ctx))(t)
	if len(top.Segment.BlobPrefixes) != 2 || *top.Segment.BlobPrefixes[0].Name != "d0/" {
		t.Fatalf("%d prefixes", len(top.Segment.BlobPrefixes))
	}
}

func TestBlobSAS(t *testing.T) {
	ctx, within := context.Background(), newContainer(t)
	client := within.NewBlockBlobClient("shared")
	must(client.UploadBuffer(ctx, []byte("for readers"), nil))(t)
	url := must(client.GetSASURL(sas.BlobPermissions{Read: true}, time.Now().Add(time.Hour), nil))(t)
	answer := must(http.Get(url))(t)
	body := must(io.ReadAll(answer.Body))(t)
	if answer.StatusCode != 200 || string(body) != "for readers" {
		t.Fatalf("%d %s", answer.StatusCode, body)
	}
	reader := must(blockblob.NewClientWithNoCredential(url, nil))(t)
	if _, err := reader.UploadBuffer(ctx, []byte("forged"), nil); !bloberror.HasCode(err, bloberror.AuthorizationPermissionMismatch) {
		t.Fatalf("a write by a reader was answered %v", err)
	}
}

func TestBlobSnapshotsAndCopies(t *testing.T) {
	ctx, within := context.Background(), newContainer(t)
	client := within.NewBlockBlobClient("source")
	must(client.UploadBuffer(ctx, []byte("before"), nil))(t)
	taken := must(client.CreateSnapshot(ctx, nil))(t)
	must(client.UploadBuffer(ctx, []byte("after"), nil))(t)
	snapshot := must(client.WithSnapshot(*taken.Snapshot))(t)
	old := make([]byte, 6)
	must(snapshot.DownloadBuffer(ctx, old, nil))(t)
	if string(old) != "before" {
		t.Fatalf("the snapshot holds %q", old)
	}
	url := must(client.GetSASURL(sas.BlobPermissions{Read: true}, time.Now().Add(time.Hour), nil))(t)
	copied := must(within.NewBlockBlobClient("copy").CopyFromURL(ctx, url, nil))(t)
	if *copied.CopyStatus != "success" {
		t.Fatalf("the copy is %s", *copied.CopyStatus)
	}
	if _, err := client.Delete(ctx, nil); !bloberror.HasCode(err, bloberror.SnapshotsPresent) {
		t.Fatalf("a delete with snapshots was answered %v", err)
	}
}
