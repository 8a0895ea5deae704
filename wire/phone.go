package wire

// PhoneAccess is how a phone reaches the server.
type PhoneAccess struct {
	// Addresses are those that a phone can use, then those that lack something.
	Addresses []PhoneAddress `json:"addresses"`
	// Through is what passed this call on to the server.
	Through Through `json:"through"`
}

// Through is what passed a call on to the server, by what it says itself. Nothing depends on it.
type Through string

const (
	Direct     Through = "direct"
	Proxied    Through = "proxy"
	Cloudflare Through = "cloudflare"
)

// PhoneAddress is an address of the server.
type PhoneAddress struct {
	URL     string       `json:"url"` // "" if its name is unknown
	Network PhoneNetwork `json:"network"`
	Missing PhoneMissing `json:"missing"`
	// Fix are the commands that add what is missing, in their order.
	Fix []string `json:"fix"`
}

// PhoneNetwork is where an address can be reached from.
type PhoneNetwork string

const (
	PublicNetwork PhoneNetwork = "public"
	Tailnet       PhoneNetwork = "tailscale"
	LocalNetwork  PhoneNetwork = "lan"
)

// PhoneMissing is why a phone cannot use an address.
type PhoneMissing string

const (
	NothingMissing     PhoneMissing = "nothing"
	MissingTLS         PhoneMissing = "tls"         // the server has no certificate
	MissingListen      PhoneMissing = "listen"      // it listens on its own machine only
	MissingCertificate PhoneMissing = "certificate" // its certificate is for other names
	MissingRenewal     PhoneMissing = "renewal"     // its certificate has expired
	MissingHost        PhoneMissing = "host"        // it refuses the host name
	MissingServe       PhoneMissing = "serve"       // nothing forwards to it
	MissingName        PhoneMissing = "name"        // the network has no names
)
