package folder

// ReadAtMost is Read, with another bound on what is looked at for nested repositories.
var ReadAtMost = read

// GitRuns reports whether a key of Git's configuration with this value makes Git run something.
var GitRuns = gitRunsValue
