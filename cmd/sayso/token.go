package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/session"
)

// tokenFlags are the flags of sayso token.
type tokenFlags struct {
	signIn      bool
	agent, name string
	runner      string
	role, scope string
	ttl         time.Duration
	serverFlags
}

func (f *tokenFlags) define(flags *flag.FlagSet) {
	flags.BoolVar(&f.signIn, "sign-in", false, "print a one-time sign-in link for a browser")
	flags.StringVar(&f.agent, "agent", "", "create a token for the agent `name`, which can only ask people over MCP")
	flags.StringVar(&f.runner, "runner", "", "create a token for the runner `name` on another host, or replace the one that it has")
	flags.StringVar(&f.name, "name", "", "`name` of the token")
	flags.StringVar(&f.role, "role", "", "`role` of the token: viewer, member or admin; without it, that of the first admin")
	flags.StringVar(&f.scope, "scope", "", "`scope` of a token of the first admin: viewer, member or admin for their rights, or metrics to read /metrics and nothing else")
	flags.DurationVar(&f.ttl, "expires", 0, "lifetime of the token, such as 720h; without it, the token does not expire (`time`)")
	f.serverFlags.define(flags)
}

// token creates an API token or a sign-in link in the server's database. The server may be
// running.
func token(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f tokenFlags
	flags := newFlags("token", f.define)
	rest, err := parseFlags(flags, args)
	if err != nil {
		return err
	}
	// Flags of another kind of token are refused, because ignoring them would surprise people.
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	wrong := ""
	switch {
	case len(rest) > 0:
		return noArguments(rest)
	case f.signIn && (given["agent"] || given["name"] || given["role"] || given["scope"] || given["expires"]):
		wrong = "--sign-in cannot be combined with --agent, --name, --role, --scope or --expires"
	case given["agent"] && (given["name"] || given["role"] || given["scope"]):
		wrong = "--agent cannot be combined with --name, --role or --scope: it is the name, and an agent has no role"
	case given["runner"] && (f.signIn || given["agent"] || given["name"] || given["role"] || given["scope"] || given["expires"]):
		wrong = "--runner cannot be combined with other token flags: a runner serves only its own sessions"
	case given["role"] && given["scope"]:
		wrong = "give either --role, for a separate user, or --scope"
	case given["scope"] && !slices.Contains([]string{"viewer", "member", "admin", account.MetricsScope}, f.scope):
		wrong = "--scope: give viewer, member, admin or metrics"
	}
	if wrong != "" {
		return usageError(wrong)
	}
	s, opened, err := openStore(ctx, "token", f.serverFlags)
	if err != nil {
		return err
	}
	defer opened.Close()
	ctx = asCommandLine(ctx)
	directory := account.NewDirectory(opened)
	admin, err := directory.FirstAdmin(ctx)
	if err != nil {
		return err
	}
	if f.signIn {
		secret, err := directory.NewSignInLink(ctx, admin.UserID)
		if err != nil {
			return err
		}
		unclaimed, err := directory.Unclaimed(ctx)
		if err != nil {
			return err
		}
		way := readAddresses(s).outside
		if unclaimed {
			way = readAddresses(s).local // the first admin is created on the machine itself
		}
		fmt.Fprintln(stdout, signInAddress(way, "", secret))
		return nil
	}
	if f.agent != "" {
		secret, err := agentToken(ctx, opened, directory, admin, f.agent, f.ttl)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, secret)
		fmt.Fprintln(stderr, "Copy this token now. It is shown only once. Give the agent the MCP server "+readAddresses(s).outside+agentsPath+" with the header: Authorization: Bearer TOKEN")
		return nil
	}
	if given["runner"] {
		secret, err := runnerToken(ctx, opened, admin, f.runner)
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, secret)
		fmt.Fprintln(stderr, "Copy this token now. It is shown only once. Write it to a file on the other host, and run there: sayso runner --connect "+readAddresses(s).outside+" --token-file FILE")
		return nil
	}
	if f.name == "" {
		return errors.New("give the token a name with --name, or create a sign-in link with --sign-in, or the token of an agent with --agent NAME")
	}
	create := func() (account.Identity, string, error) {
		if f.scope != "" {
			return directory.CreateOwnToken(ctx, account.Identity{User: admin, Credential: account.Credential{Name: "command line"}}, f.name, account.Role(f.scope), f.ttl)
		}
		return directory.CreateToken(ctx, admin, f.name, account.Role(f.role), f.ttl)
	}
	_, secret, err := create()
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, secret)
	fmt.Fprintln(stderr, "Copy this token now. It is shown only once. Send it as: Authorization: Bearer TOKEN")
	return nil
}

// agentNamespace separates the sessions of agents from all other version 5 UUIDs.
var agentNamespace = uuid.MustParse("3b9de1c2-54a7-5f0a-8c86-9e2f1d7a6b40")

// agentToken creates a token for an external agent, in the session of its name. Later tokens
// with that name use the same session.
func agentToken(ctx context.Context, sessions session.Store, directory *account.Directory, owner account.User, name string, ttl time.Duration) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > 100 {
		return "", errors.New("--agent needs a name of 1 to 100 characters, which people see with its questions")
	}
	id := uuid.NewSHA1(agentNamespace, []byte(name)).String()
	err := sessions.CreateSession(ctx, session.Session{
		SessionID: id, ProjectID: session.ProjectOf(""), Title: name, Kind: session.Agent,
		PermissionMode: "default", OwnerID: owner.UserID, CreatedAt: time.Now(),
	})
	if err != nil && !errors.Is(err, session.ErrExists) {
		return "", err
	}
	secret, err := directory.MintAgent(ctx, id, name, ttl)
	if err == nil {
		err = directory.NoteAgentToken(ctx, owner, name)
	}
	return secret, err
}

// runnerToken creates a runner and returns its token, or replaces the token of the runner of that name.
func runnerToken(ctx context.Context, st session.RunnerStore, admin account.User, name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > 100 {
		return "", errors.New("--runner needs a name of 1 to 100 characters, which people see with its sessions")
	}
	token, hash := runner.NewToken()
	by := pending.Actor{UserID: admin.UserID, Name: admin.Name, Device: "command line"}
	err := st.CreateRunner(ctx, session.Runner{RunnerID: uuid.NewString(), Name: name}, hash, by)
	if !errors.Is(err, session.ErrRunnerExists) {
		return token, err
	}
	all, err := st.Runners(ctx)
	if err != nil {
		return "", err
	}
	for _, r := range all {
		if r.Name == name && r.Remote && r.RemovedAt.IsZero() {
			return token, st.SetRunnerToken(ctx, r.RunnerID, &hash, by)
		}
	}
	return "", fmt.Errorf("the runner inside the server is called %s; give the other one another name", quote(name))
}

// signInAddress returns a sign-in link with the secret after the #, which browsers do not send. next
// is the path of the web app to open afterwards, or "".
func signInAddress(at, next, secret string) string {
	if next != "" {
		next = "?next=" + next
	}
	return at + "/sign-in" + next + "#" + secret
}

// addresses are the server's addresses for browsers on its machine and for all others. They
// are equal unless an external address is configured.
type addresses struct{ local, outside string }

func addressesOf(s settings) addresses {
	w := addresses{local: localAddress(s)}
	if s.named {
		_, port, _ := net.SplitHostPort(s.Listen) // listenOnLocalhost has parsed it
		w.local = "http://localhost:" + port
	}
	w.outside = w.local
	if s.PublicURL != "" {
		w.outside = s.PublicURL
	}
	return w
}

// addressesFile returns the file in which a server stores its addresses, one per line, for other
// commands on this machine. They know neither its flags nor the port chosen for :0.
func addressesFile(stateDir string) string { return filepath.Join(stateDir, "ways") }

func writeAddresses(s settings) error {
	w := addressesOf(s)
	return config.Write(addressesFile(s.StateDir), []byte(w.local+"\n"+w.outside+"\n"))
}

// readAddresses returns the addresses of the server that ran last, or else those of the
// settings.
func readAddresses(s settings) addresses {
	noted, err := os.ReadFile(addressesFile(s.StateDir))
	here, outside, found := strings.Cut(strings.TrimSpace(string(noted)), "\n")
	if err != nil || !found {
		return addressesOf(s)
	}
	return addresses{local: here, outside: outside}
}

// address returns the address of the server for browsers.
func address(s settings) string {
	if s.PublicURL != "" {
		return s.PublicURL
	}
	return localAddress(s)
}

// localAddress returns the address of the server for a browser on this machine.
func localAddress(s settings) string {
	scheme := "http"
	if s.tls() {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(s.Listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return scheme + "://" + net.JoinHostPort("127.0.0.1", port)
	}
	return scheme + "://" + s.Listen
}

// signInLinkTTL is the lifetime of a sign-in link, as a text for people.
var signInLinkTTL = fmt.Sprintf("%.0f minutes", account.SignInLinkTTL.Round(time.Minute).Minutes())
