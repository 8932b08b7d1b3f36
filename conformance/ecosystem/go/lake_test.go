package ecosystem

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azdatalake/datalakeerror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azdatalake/directory"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azdatalake/file"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azdatalake/filesystem"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azdatalake/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azdatalake/sas"
)

const alice = "3a0c3f44-0b0f-4c3b-9b7e-1c8f0a5b7d11"

// lakeConnectionString names the account with a hierarchical namespace.
func lakeConnectionString(t *testing.T) string {
	text := os.Getenv("LAZULI_LAKE_CONNECTION_STRING")
	if text == "" {
		t.Fatal("LAZULI_LAKE_CONNECTION_STRING is not set: use ./test ecosystem")
	}
	return text
}

func newFileSystem(t *testing.T) (*filesystem.Client, string) {
	name := unique("golake")
	client := must(filesystem.NewClientFromConnectionString(lakeConnectionString(t), name, nil))(t)
	must(client.Create(context.Background(), nil))(t)
	return client, name
}

func writeFile(t *testing.T, client *file.Client, content string) {
	t.Helper()
	ctx := context.Background()
	must(client.Create(ctx, nil))(t)
	must(client.AppendData(ctx, 0, streaming.NopCloser(strings.NewReader(content)), nil))(t)
	must(client.FlushData(ctx, int64(len(content)), nil))(t)
}

func readFile(t *testing.T, client *file.Client) string {
	t.Helper()
	answer := must(client.DownloadStream(context.Background(), nil))(t)
	return string(must(io.ReadAll(answer.Body))(t))
}

func pathNames(t *testing.T, client *filesystem.Client, recursive bool, page int32) (names []string, pages int) {
	t.Helper()
	pager := client.NewListPathsPager(recursive, &filesystem.ListPathsOptions{MaxResults: &page})
	for pager.More() {
		answer := must(pager.NextPage(context.Background()))(t)
		for _, path := range answer.Paths {
			names = append(names, *path.Name)
		}
		pages++
	}
	return names, pages
}

func refusedBy(t *testing.T, what string, err error, code datalakeerror.StorageErrorCode) {
	t.Helper()
	if !datalakeerror.HasCode(err, code) {
		t.Fatalf("%s was answered %v, not %s", what, err, code)
	}
}

func TestLakeAppendsInAnyOrder(t *testing.T) {
	ctx := context.Background()
	within, _ := newFileSystem(t)
	client := within.NewFileClient("deep/er/file.txt")
	must(client.Create(ctx, &file.CreateOptions{HTTPHeaders: &file.HTTPHeaders{ContentType: to.Ptr("text/plain")}}))(t)
	must(client.AppendData(ctx, 6, streaming.NopCloser(strings.NewReader("world")), nil))(t)
	_, err := client.FlushData(ctx, 11, nil)
	refusedBy(t, "a flush over a hole", err, datalakeerror.InvalidFlushPosition)
	must(client.AppendData(ctx, 0, streaming.NopCloser(strings.NewReader("hello ")), nil))(t)
	if got := readFile(t, client); got != "" {
		t.Fatalf("%q is seen before it is flushed", got)
	}
	must(client.FlushData(ctx, 11, nil))(t)
	if got := readFile(t, client); got != "hello world" {
		t.Fatalf("read %q", got)
	}
	found := must(client.GetProperties(ctx, nil))(t)
	if *found.ContentType != "text/plain" || *found.ResourceType != "file" || *found.ContentLength != 11 {
		t.Fatalf("type %s, kind %s, %d bytes", *found.ContentType, *found.ResourceType, *found.ContentLength)
	}
}

func TestLakeUploadsInParallel(t *testing.T) {
	ctx := context.Background()
	within, _ := newFileSystem(t)
	content := pattern(9<<20 + 11)
	client := within.NewFileClient("large file.bin")
	must(client.Create(ctx, nil))(t)
	check(t, client.UploadStream(ctx, bytes.NewReader(content), &file.UploadStreamOptions{ChunkSize: 1 << 20, Concurrency: 6}))
	got := make([]byte, len(content))
	must(client.DownloadBuffer(ctx, got, &file.DownloadBufferOptions{ChunkSize: 2 << 20, Concurrency: 4}))(t)
	if !bytes.Equal(got, content) {
		t.Fatal("other bytes came back")
	}
}

func TestLakeRenames(t *testing.T) {
	ctx := context.Background()
	within, _ := newFileSystem(t)
	for _, name := range []string{"from/a", "from/sub/b", "full/c"} {
		writeFile(t, within.NewFileClient(name), name)
	}
	before := must(within.NewFileClient("from/sub/b").GetProperties(ctx, nil))(t)
	must(within.NewDirectoryClient("from").Rename(ctx, "to", nil))(t)
	if got := readFile(t, within.NewFileClient("to/sub/b")); got != "from/sub/b" {
		t.Fatalf("read %q", got)
	}
	after := must(within.NewFileClient("to/sub/b").GetProperties(ctx, nil))(t)
	if *before.ETag != *after.ETag {
		t.Fatal("a rename changed an ETag below it")
	}
	_, err := within.NewFileClient("from/a").GetProperties(ctx, nil)
	if !datalakeerror.HasCode(err, datalakeerror.BlobNotFound, datalakeerror.PathNotFound) {
		t.Fatalf("the old name was answered %v", err)
	}
	_, err = within.NewDirectoryClient("to").Rename(ctx, "full", nil)
	refusedBy(t, "a directory that has something in it", err, datalakeerror.PathAlreadyExists)
	_, err = within.NewDirectoryClient("nowhere").Rename(ctx, "else", nil)
	refusedBy(t, "a missing source", err, datalakeerror.SourcePathNotFound)
	must(within.NewFileClient("to/a").Rename(ctx, "full/c", nil))(t)
	if got := readFile(t, within.NewFileClient("full/c")); got != "from/a" {
		t.Fatalf("read %q", got)
	}
	stale := &file.SourceAccessConditions{
		SourceModifiedAccessConditions: &file.SourceModifiedAccessConditions{SourceIfMatch: to.Ptr(azcore.ETag(`"0x1"`))},
	}
	_, err = within.NewFileClient("full/c").Rename(ctx, "d", &file.RenameOptions{SourceAccessConditions: stale})
	refusedBy(t, "a stale source", err, datalakeerror.SourceConditionNotMet)
}

func TestLakeConditions(t *testing.T) {
	ctx := context.Background()
	within, _ := newFileSystem(t)
	client := within.NewFileClient("one")
	first := must(client.Create(ctx, nil))(t)
	absent := &file.AccessConditions{ModifiedAccessConditions: &file.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}
	_, err := client.Create(ctx, &file.CreateOptions{AccessConditions: absent})
	refusedBy(t, "a file that is there", err, datalakeerror.PathAlreadyExists)
	must(client.Create(ctx, nil))(t)
	stale := &file.AccessConditions{ModifiedAccessConditions: &file.ModifiedAccessConditions{IfMatch: first.ETag}}
	_, err = client.Delete(ctx, &file.DeleteOptions{AccessConditions: stale})
	refusedBy(t, "a stale ETag", err, datalakeerror.ConditionNotMet)
}

func TestLakeAccessControl(t *testing.T) {
	ctx := context.Background()
	within, _ := newFileSystem(t)
	for _, name := range []string{"d/a", "d/b", "d/sub/c"} {
		writeFile(t, within.NewFileClient(name), name)
	}
	top := within.NewDirectoryClient("d")
	list := "user::rwx,group::r-x,other::---,default:user::rwx,default:group::r-x,default:user:" + alice + ":r-x,default:mask::r-x,default:other::---"
	must(top.SetAccessControl(ctx, &directory.SetAccessControlOptions{ACL: &list}))(t)
	must(within.NewFileClient("d/heir").Create(ctx, nil))(t)
	heir := must(within.NewFileClient("d/heir").GetAccessControl(ctx, nil))(t)
	if !strings.Contains(*heir.ACL, "user:"+alice+":r-x") || *heir.Owner != "$superuser" {
		t.Fatalf("the default entries gave %s, owner %s", *heir.ACL, *heir.Owner)
	}
	batch := &directory.UpdateAccessControlRecursiveOptions{BatchSize: to.Ptr(int32(2))}
	updated := must(top.UpdateAccessControlRecursive(ctx, "user:"+alice+":rw-", batch))(t)
	if *updated.DirectoriesSuccessful != 2 || *updated.FilesSuccessful != 4 || *updated.FailureCount != 0 {
		t.Fatalf("%d directories, %d files, %d failures", *updated.DirectoriesSuccessful, *updated.FilesSuccessful, *updated.FailureCount)
	}
	deep := within.NewFileClient("d/sub/c")
	if found := must(deep.GetAccessControl(ctx, nil))(t); !strings.Contains(*found.ACL, "user:"+alice+":rw-") {
		t.Fatalf("the list is %s", *found.ACL)
	}
	must(top.RemoveAccessControlRecursive(ctx, "user:"+alice, nil))(t)
	if found := must(deep.GetAccessControl(ctx, nil))(t); strings.Contains(*found.ACL, alice) {
		t.Fatalf("the list is still %s", *found.ACL)
	}
	must(deep.SetAccessControl(ctx, &file.SetAccessControlOptions{Permissions: to.Ptr("0640")}))(t)
	if found := must(deep.GetAccessControl(ctx, nil))(t); !strings.HasPrefix(*found.Permissions, "rw-r-----") {
		t.Fatalf("the permissions are %s", *found.Permissions)
	}
	_, err := deep.SetAccessControl(ctx, &file.SetAccessControlOptions{ACL: to.Ptr("user:rwx")})
	if err == nil {
		t.Fatal("a list that is none was taken")
	}
}

func TestLakeLeases(t *testing.T) {
	ctx := context.Background()
	within, _ := newFileSystem(t)
	client := within.NewFileClient("leased")
	writeFile(t, client, "text")
	holder := must(lease.NewPathClient(client, nil))(t)
	must(holder.AcquireLease(ctx, 60, nil))(t)
	_, err := client.AppendData(ctx, 4, streaming.NopCloser(strings.NewReader("!")), nil)
	refusedBy(t, "an append without the lease", err, datalakeerror.LeaseIDMissing)
	_, err = client.Delete(ctx, nil)
	refusedBy(t, "a delete without the lease", err, datalakeerror.LeaseIDMissing)
	held := &file.LeaseAccessConditions{LeaseID: holder.LeaseID()}
	must(client.AppendData(ctx, 4, streaming.NopCloser(strings.NewReader("!")), &file.AppendDataOptions{LeaseAccessConditions: held}))(t)
	must(client.FlushData(ctx, 5, &file.FlushDataOptions{AccessConditions: &file.AccessConditions{LeaseAccessConditions: held}}))(t)
	must(holder.ReleaseLease(ctx, nil))(t)
	must(client.Delete(ctx, nil))(t)
}

func TestLakeListsAndDeletes(t *testing.T) {
	ctx := context.Background()
	within, name := newFileSystem(t)
	for _, name := range []string{"a/1", "a/2", "a/sub/3", "b/4", "c"} {
		writeFile(t, within.NewFileClient(name), name)
	}
	names, pages := pathNames(t, within, true, 3)
	if !slices.Equal(names, []string{"a", "a/1", "a/2", "a/sub", "a/sub/3", "b", "b/4", "c"}) || pages != 3 {
		t.Fatalf("%v in %d pages", names, pages)
	}
	if names, _ := pathNames(t, within, false, 100); !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Fatalf("%v", names)
	}
	must(within.NewDirectoryClient("a").Delete(ctx, nil))(t)
	// The same tree by the other door.
	blobs := must(azblob.NewClientFromConnectionString(lakeConnectionString(t), nil))(t)
	must(blobs.UploadBuffer(ctx, name, "b/new/5", []byte("five"), nil))(t)
	if got := readFile(t, within.NewFileClient("b/new/5")); got != "five" {
		t.Fatalf("read %q", got)
	}
	if names, _ := pathNames(t, within, true, 100); !slices.Equal(names, []string{"b", "b/4", "b/new", "b/new/5", "c"}) {
		t.Fatalf("%v", names)
	}
}

func TestLakeSasForADirectory(t *testing.T) {
	ctx := context.Background()
	within, _ := newFileSystem(t)
	writeFile(t, within.NewFileClient("d/sub/in"), "within")
	writeFile(t, within.NewFileClient("e/out"), "without")
	url := must(within.NewDirectoryClient("d").GetSASURL(sas.DirectoryPermissions{Read: true, List: true}, time.Now().Add(time.Hour), nil))(t)
	_, token, _ := strings.Cut(url, "?")
	if !strings.Contains(token, "sr=d") || !strings.Contains(token, "sdd=1") {
		t.Fatalf("the SAS is for no directory: %s", token)
	}
	reader := func(path string) *file.Client {
		return must(file.NewClientWithNoCredential(within.NewFileClient(path).DFSURL()+"?"+token, nil))(t)
	}
	if got := readFile(t, reader("d/sub/in")); got != "within" {
		t.Fatalf("read %q", got)
	}
	_, err := reader("e/out").GetProperties(ctx, nil)
	if err == nil {
		t.Fatal("a SAS for a directory opened another")
	}
	_, err = reader("d/sub/in").Delete(ctx, nil)
	refusedBy(t, "a delete with the right to read", err, datalakeerror.AuthorizationPermissionMismatch)
}

func TestLakeExpiry(t *testing.T) {
	ctx := context.Background()
	within, _ := newFileSystem(t)
	client := within.NewFileClient("short-lived")
	writeFile(t, client, "soon gone")
	must(client.SetExpiry(ctx, file.SetExpiryValues{ExpiryType: file.SetExpiryTypeRelativeToNow, ExpiresOn: "3600000"}, nil))(t)
	found := must(client.GetProperties(ctx, nil))(t)
	if found.ExpiresOn == nil || time.Until(*found.ExpiresOn) < 50*time.Minute {
		t.Fatalf("it expires at %v", found.ExpiresOn)
	}
}
