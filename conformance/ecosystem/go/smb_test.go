package ecosystem

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/hirochachacha/go-smb2"
)

// over gives a share over SMB, by the account's name and key.
func over(t *testing.T, name, key string) (*smb2.Share, error) {
	port := os.Getenv("LAZULI_SMB_PORT")
	if port == "" {
		t.Fatal("LAZULI_SMB_PORT is not set: use ./test ecosystem")
	}
	socket := must(net.Dial("tcp", "127.0.0.1:"+port))(t)
	t.Cleanup(func() { socket.Close() })
	dialer := smb2.Dialer{
		Negotiator: smb2.Negotiator{RequireMessageSigning: true},
		Initiator:  &smb2.NTLMInitiator{User: part(t, "AccountName"), Password: key, Domain: "AZURE"},
	}
	session, err := dialer.Dial(socket)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { session.Logoff() })
	return session.Mount(name)
}

func part(t *testing.T, name string) string {
	for _, part := range strings.Split(connectionString(t), ";") {
		if value, found := strings.CutPrefix(part, name+"="); found {
			return value
		}
	}
	t.Fatal("the connection string has no " + name)
	return ""
}

func listed(t *testing.T, within *smb2.Share, path string) string {
	var names []string
	for _, entry := range must(within.ReadDir(path))(t) {
		names = append(names, entry.Name())
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

func TestTreeOverSmb(t *testing.T) {
	client := newShare(t)
	name := client.URL()[strings.LastIndex(client.URL(), "/")+1:]
	within := must(over(t, name, part(t, "AccountKey")))(t)
	defer within.Umount()
	check(t, within.MkdirAll(`tree\deep`, 0o755))
	lengths := []int{0, 1, 4096, 65537, 3_000_000}
	for at, length := range lengths {
		check(t, within.WriteFile(fmt.Sprintf(`tree\deep\%d`, at), pattern(length), 0o644))
	}
	if names := listed(t, within, `tree\deep`); names != "0 1 2 3 4" {
		t.Fatal(names)
	}
	for at, length := range lengths {
		path := fmt.Sprintf(`tree\deep\%d`, at)
		if !bytes.Equal(must(within.ReadFile(path))(t), pattern(length)) {
			t.Fatalf("%s came back different", path)
		}
		check(t, within.Rename(path, fmt.Sprintf(`tree\moved%d`, at)))
	}
	if info := must(within.Stat(`tree\moved4`))(t); info.Size() != 3_000_000 {
		t.Fatal(info.Size())
	}
	if _, err := within.Stat(`tree\deep\4`); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the old name was answered %v", err)
	}
	check(t, within.Truncate(`tree\moved4`, 10))
	if got := must(within.ReadFile(`tree\moved4`))(t); !bytes.Equal(got, pattern(3_000_000)[:10]) {
		t.Fatal("cut off elsewhere")
	}
	check(t, within.RemoveAll("tree"))
	if names := listed(t, within, ""); names != "" {
		t.Fatal(names)
	}
}

func TestStrangersOverSmb(t *testing.T) {
	if _, err := over(t, "any", "wrong"); err == nil {
		t.Fatal("a wrong key was let in")
	}
}
