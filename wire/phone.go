package wire

// PhoneAccess describes how a phone reaches the server.
type PhoneAccess struct {
	// Addresses lists the usable addresses first, then those that lack something.
	Addresses []PhoneAddress `json:"addresses"`
	// Through is the proxy that forwarded this call to the server.
	Through Through `json:"through"`
}

// Through is the kind of proxy that forwarded a call, as the proxy identified itself. It is only
// informative.
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
	// Fix lists the commands that add what is missing, in order.
	Fix []string `json:"fix"`
}

// PhoneNetwork is the network from which an address can be reached.
type PhoneNetwork string

const (
	PublicNetwork PhoneNetwork = "public"
	Tailnet       PhoneNetwork = "tailscale"
	LocalNetwork  PhoneNetwork = "lan"
)

// PhoneMissing is the reason why a phone cannot use an address.
type PhoneMissing string

const (
	NothingMissing     PhoneMissing = "nothing"
	MissingTLS         PhoneMissing = "tls"         // the server has no certificate
	MissingListen      PhoneMissing = "listen"      // the server listens only on its own machine
	MissingCertificate PhoneMissing = "certificate" // the server's certificate is for other names
	MissingRenewal     PhoneMissing = "renewal"     // the server's certificate has expired
	MissingHost        PhoneMissing = "host"        // the server refuses the host name
	MissingServe       PhoneMissing = "serve"       // nothing forwards to the server
	MissingName        PhoneMissing = "name"        // the network has no names
)
