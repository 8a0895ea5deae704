package descriptors

import (
	"os"
	"runtime"
)

// folder lists the descriptors of this process, on Linux and macOS.
const folder = "/dev/fd"

// open counts the open descriptors. Since Linux 6.2, the size of the folder is their
// number; reading it needs neither a descriptor nor a listing.
func open() (int, bool) {
	if info, err := os.Stat(folder + "/"); err == nil && runtime.GOOS == "linux" && info.Size() > 0 {
		return int(info.Size()), true
	}
	dir, err := os.Open(folder)
	if err != nil {
		return 0, false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return len(names) - 1, err == nil // without the descriptor of the folder itself
}
