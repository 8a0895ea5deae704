package link

// Window is what a channel may carry before its receiver has taken any of it, in bytes.
const Window = window

// Speaking returns options of a side that speaks these versions.
func (o Options) Speaking(oldest, newest int) Options {
	o.versions = [2]int{oldest, newest}
	return o
}
