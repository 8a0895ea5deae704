package review

// ReaderTable is what is known of a program, for tests that call all of it.
type ReaderTable struct{ Name, Options, Operands string }

// Readers are the programs of the list, and the subcommands of git as "git log".
func Readers() []ReaderTable {
	var out []ReaderTable
	for n, r := range readers {
		if n != "git" {
			out = append(out, ReaderTable{n, r.options, r.operands})
		}
	}
	for n, r := range gitReaders {
		out = append(out, ReaderTable{"git " + n, r.options, r.operands})
	}
	return out
}
