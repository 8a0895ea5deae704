package main_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// directives reads a unit: what is set, by section and name.
func directives(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	set, section := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case ok:
			set[section+"."+name] = value
		default:
			t.Errorf("%s: %q", path, line)
		}
	}
	return set
}

// The units of systemd leave the shims alone when the server stops, is killed or
// is started again.
func TestSystemdUnitsKeepSessions(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"../../contrib/systemd/sayso.service", "../../contrib/systemd/sayso@.service", "../../contrib/systemd/sayso-apart.service"} {
		set := directives(t, path)
		for name, want := range map[string]string{
			"Service.Type": "exec", "Service.KillMode": "process", "Service.Delegate": "yes", "Service.OOMPolicy": "continue",
			"Service.ExecStart": "/usr/local/bin/sayso serve", "Service.ExecReload": "/bin/kill -HUP $MAINPID", "Service.Restart": "on-failure",
		} {
			if set[name] != want {
				t.Errorf("%s: %s is %q, want %q", path, name, set[name], want)
			}
		}
		// A shim that lives on would see other folders than the next server, or find
		// its socket gone.
		for _, name := range []string{"PrivateTmp", "ProtectHome", "ProtectSystem", "RuntimeDirectory", "SendSIGHUP", "KillSignal"} {
			if value, there := set["Service."+name]; there {
				t.Errorf("%s: %s=%s", path, name, value)
			}
		}
	}
}

// plist reads the dictionary at the top of a property list: its values by key, as
// text or by their tag.
func plist(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	values, key, depth := map[string]string{}, "", 0
	d := xml.NewDecoder(f)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return values
		}
		must(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			if depth == 3 && token.Name.Local != "key" { // plist, dict, and this
				values[key] = token.Name.Local
			}
			if name := token.Name.Local; depth == 3 && (name == "key" || name == "string" || name == "integer") {
				var text string
				must(t, d.DecodeElement(&text, &token))
				depth--
				if name == "key" {
					key = text
				} else {
					values[key] = text
				}
			}
		case xml.EndElement:
			depth--
		}
	}
}

func TestLaunchdAgentKeepsSessions(t *testing.T) {
	t.Parallel()
	values := plist(t, "../../contrib/launchd/dev.sayso.server.plist")
	for key, want := range map[string]string{
		"Label": "dev.sayso.server", "ProgramArguments": "array", "RunAtLoad": "true", "KeepAlive": "dict",
		"AbandonProcessGroup": "true", "ExitTimeOut": "15", "Umask": "63",
	} {
		if values[key] != want {
			t.Errorf("%s is %q, want %q", key, values[key], want)
		}
	}
}
