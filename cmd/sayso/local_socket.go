package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
)

// socketFile is the name of the socket in the state folder. The terminal commands reach the server
// through it, without its address, its certificate or a token: only the user that runs the server,
// and root, can open it.
const socketFile = "sayso.sock"

// maxSocketPath is the longest path that fits into the address of a socket on every system.
const maxSocketPath = 103

// socketPath returns a path of the socket that fits into an address. Call free when the path is no
// longer needed.
func socketPath(stateDir string) (path string, free func(), err error) {
	path = filepath.Join(stateDir, socketFile)
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path of the state folder is too long for a socket: %s", stateDir)
	}
	dir, err := os.Open(stateDir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketFile), func() { dir.Close() }, nil
}

// listenAtSocket opens the socket. The caller holds the lock of the state folder, so an existing
// socket is left over from a server that was killed.
func listenAtSocket(stateDir string) (net.Listener, error) {
	path, free, err := socketPath(stateDir)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		free()
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600) // until now, the mode 0700 of the folder has kept other users out
	}
	if err != nil {
		free()
		return nil, err
	}
	return &socketListener{Listener: l, free: free}, nil
}

// socketListener frees the path of a socket when it is closed.
type socketListener struct {
	net.Listener
	free   func()
	closed atomic.Bool
}

func (l *socketListener) Close() error {
	if l.closed.Swap(true) {
		return net.ErrClosed
	}
	defer l.free()
	return l.Listener.Close()
}

// localOperator serves the REST API to whoever can open the socket, with the rights of the first
// admin. A request with a token has the rights of that token instead.
type localOperator struct {
	next      http.Handler
	directory *account.Directory
	token     atomic.Pointer[operatorToken]
}

// operatorToken is a token whose secret is only in the memory of this server.
type operatorToken struct {
	secret string
	until  time.Time
}

const (
	operatorTokenTTL  = 24 * time.Hour
	operatorTokenName = "terminal"
)

// ServeHTTP implements [http.Handler].
func (o *localOperator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/api/") && r.URL.Path != "/readyz" && r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	r = r.Clone(r.Context())
	r.RemoteAddr = "127.0.0.1:0" // a socket has no address; the checks and the audit log need one
	r.Header.Del("Cookie")
	if r.Header.Get("Authorization") == "" {
		secret, err := o.secret(r.Context())
		if err != nil {
			http.Error(w, "cannot create a token for the terminal: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	o.next.ServeHTTP(w, r)
}

// secret returns a token of the first admin that is valid for at least an hour. Two calls at
// the same time may create two.
func (o *localOperator) secret(ctx context.Context) (string, error) {
	now := time.Now()
	if t := o.token.Load(); t != nil && now.Add(time.Hour).Before(t.until) {
		if _, err := o.directory.Identify(ctx, account.APIToken, t.secret); !errors.Is(err, account.ErrRefused) {
			return t.secret, err
		}
	}
	ctx = context.WithoutCancel(ctx)
	admin, err := o.directory.FirstAdmin(ctx)
	if err != nil {
		return "", err
	}
	// A token with an explicit role does not make the server count as set up.
	_, secret, err := o.directory.CreateOwnToken(ctx, account.Identity{User: admin, Credential: account.Credential{Name: operatorTokenName}}, operatorTokenName, account.Admin, operatorTokenTTL)
	if err == nil {
		o.token.Store(&operatorToken{secret, now.Add(operatorTokenTTL)})
	}
	return secret, err
}
