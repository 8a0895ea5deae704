package folder

// ReadAtMost is Read, with another bound on what is looked at for nested repositories.
var ReadAtMost = read
