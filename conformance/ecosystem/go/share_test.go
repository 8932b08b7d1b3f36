package ecosystem

import (
	"bytes"
	"context"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/file"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/fileerror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azfile/share"
)

func newShare(t *testing.T) *share.Client {
	client := must(service.NewClientFromConnectionString(connectionString(t), nil))(t).NewShareClient(unique("go"))
	must(client.Create(context.Background(), nil))(t)
	return client
}

func TestShareTree(t *testing.T) {
	ctx, within := context.Background(), newShare(t)
	folder := within.NewDirectoryClient("Folder")
	must(folder.Create(ctx, nil))(t)
	content := pattern(9 << 20)
	client := folder.NewFileClient("Data.bin")
	must(client.Create(ctx, int64(len(content)), nil))(t)
	check(t, client.UploadBuffer(ctx, content, &file.UploadBufferOptions{ChunkSize: 1 << 20, Concurrency: 4}))
	got := make([]byte, len(content))
	// Names differ by more than case.
	must(within.NewDirectoryClient("folder").NewFileClient("DATA.BIN").DownloadBuffer(ctx, got, nil))(t)
	if !bytes.Equal(got, content) {
		t.Fatal("other bytes came back")
	}
	page := must(folder.NewListFilesAndDirectoriesPager(nil).NextPage(ctx))(t)
	if len(page.Segment.Files) != 1 || *page.Segment.Files[0].Name != "Data.bin" {
		t.Fatalf("%d files", len(page.Segment.Files))
	}
	must(client.Rename(ctx, "moved.bin", nil))(t)
	if _, err := client.GetProperties(ctx, nil); !fileerror.HasCode(err, fileerror.ResourceNotFound) {
		t.Fatalf("the old name was answered %v", err)
	}
	must(within.NewRootDirectoryClient().NewFileClient("moved.bin").GetProperties(ctx, nil))(t)
}

func TestShareLeaseAndSnapshot(t *testing.T) {
	ctx, within := context.Background(), newShare(t)
	client := within.NewRootDirectoryClient().NewFileClient("one")
	must(client.Create(ctx, 4, nil))(t)
	check(t, client.UploadBuffer(ctx, []byte("then"), nil))
	taken := must(within.CreateSnapshot(ctx, nil))(t)
	check(t, client.UploadBuffer(ctx, []byte("now!"), nil))
	old := make([]byte, 4)
	past := must(within.WithSnapshot(*taken.Snapshot))(t)
	must(past.NewRootDirectoryClient().NewFileClient("one").DownloadBuffer(ctx, old, nil))(t)
	if string(old) != "then" {
		t.Fatalf("the snapshot holds %q", old)
	}
	holder := must(lease.NewFileClient(client, nil))(t)
	must(holder.Acquire(ctx, nil))(t)
	if _, err := client.Delete(ctx, nil); !fileerror.HasCode(err, "LeaseIdMissing") {
		t.Fatalf("a delete without the lease was answered %v", err)
	}
	must(holder.Release(ctx, nil))(t)
	must(client.Delete(ctx, nil))(t)
}
