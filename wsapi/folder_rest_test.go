package wsapi_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/wsapi"
)

func TestFoldersAreListed(t *testing.T) {
	t.Parallel()
	h := openHouse(t, filepath.Join(t.TempDir(), "sayso.db"))
	var list wsapi.FolderList
	got := h.as(account.Member, "GET", "/api/folders?prefix=%2Fw%2F&hidden=true&limit=7", nil)
	got.into(t, &list)
	if want := []wsapi.Folder{{Path: "/w/two", Recent: true}, {Path: "/w/one"}}; got.status != 200 || !list.More || !slices.Equal(list.Folders, want) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if asked := h.driver.asked(); len(asked) != 1 || !strings.HasSuffix(asked[0], `: "/w/" hidden=true limit=7`) {
		t.Errorf("asked %q", asked)
	}
	checkRefusal(t, h.as(account.Member, "GET", "/api/folders?prefix=%2Fetc", nil), 400, "invalid")
	checkRefusal(t, h.as(account.Member, "GET", "/api/folders?limit=-1", nil), 400, "invalid")
	checkRefusal(t, h.as(account.Member, "GET", "/api/folders?prefix=/w"+strings.Repeat("x", 5000), nil), 400, "invalid")
	checkRefusal(t, h.as(account.Viewer, "GET", "/api/folders", nil), 403, "forbidden")
}
