package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// failed reports whether a scenario failed.
func (r report) failed() bool {
	for _, o := range r.Outcomes {
		if o.Verdict == "fail" {
			return true
		}
	}
	return false
}

// text writes the report for a terminal.
func (r report) text(w io.Writer) {
	counts := map[string]int{}
	for _, o := range r.Outcomes {
		counts[o.Verdict]++
	}
	fmt.Fprintf(w, "%s: %d passed, %d failed, %d skipped\n", r.Host, counts["pass"], counts["fail"], counts["skip"])
	for _, o := range r.Outcomes {
		for _, f := range o.Findings {
			fmt.Fprintf(w, "  %s: %s: %s", o.Scenario, f.Kind, f.Detail)
			if o.Trace != "" {
				fmt.Fprintf(w, " (%s)", o.Trace)
			}
			fmt.Fprintln(w)
		}
	}
}

// markdown writes the report as a table.
func (r report) markdown(w io.Writer) {
	fmt.Fprintf(w, "# %s, %s\n\n| Scenario | What happens | Verdict | Findings |\n|---|---|---|---|\n", r.Host, r.Date)
	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	for _, o := range r.Outcomes {
		var findings []string
		for _, f := range o.Findings {
			findings = append(findings, fmt.Sprintf("**%s**: %s", f.Kind, cell.Replace(f.Detail)))
		}
		if o.Why != "" {
			findings = append(findings, cell.Replace(o.Why))
		}
		name := o.Scenario
		if o.Trace != "" {
			name = fmt.Sprintf("[%s](%s)", o.Scenario, filepath.ToSlash(o.Trace))
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", name, cell.Replace(o.Does), o.Verdict, strings.Join(findings, "<br>"))
	}
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junit writes the report as JUnit XML.
func (r report) junit(w io.Writer) error {
	suite := junitSuite{Name: "approvaltest: " + r.Host}
	for _, o := range r.Outcomes {
		c := junitCase{Class: r.Host, Name: o.Scenario, Time: fmt.Sprintf("%.3f", o.Seconds), Output: o.Trace}
		var texts []string
		for _, f := range o.Findings {
			texts = append(texts, fmt.Sprintf("%s: %s", f.Kind, f.Detail))
		}
		suite.Tests++
		switch o.Verdict {
		case "fail":
			suite.Failures++
			c.Failure = &junitMessage{texts[0], strings.Join(texts, "\n")}
		case "skip":
			suite.Skipped++
			c.Skipped = &junitMessage{Message: o.Why}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	return enc.Encode(suite)
}

// write writes report.txt, report.md and report.xml into a folder.
func (r report) write(folder string) error {
	for name, write := range map[string]func(io.Writer) error{
		"report.txt": func(w io.Writer) error { r.text(w); return nil },
		"report.md":  func(w io.Writer) error { r.markdown(w); return nil },
		"report.xml": r.junit,
	} {
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		err = write(f)
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}
