package wsapi

import (
	"net/http"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/workspace"
)

const (
	maxFolders   = 200
	foldersDef   = 50
	longestTyped = 4096 // bytes of a path, as for the folder of a session
)

// getFolders completes what somebody types as the folder of a new session.
func (s *Server) getFolders(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	limit, err := number(query.Get("limit"), "limit", foldersDef, maxFolders)
	if err != nil {
		return err
	}
	prefix := query.Get("prefix")
	if len(prefix) > longestTyped {
		return refuseField("prefix", "The path is longer than a path can be.")
	}
	found, err := s.o.Driver.Folders(r.Context(), who.User.UserID, workspace.Search{
		Prefix: prefix, Hidden: query.Get("hidden") == "true", Limit: max(int(limit), 1),
	})
	if err != nil {
		return err
	}
	list := FolderList{Folders: make([]Folder, 0, len(found.Folders)), More: found.More}
	for _, f := range found.Folders {
		list.Folders = append(list.Folders, Folder{Path: f.Path, Recent: f.Recent})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}
