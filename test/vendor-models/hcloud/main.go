// Command hcloud judges exchanges with Hetzner's API by the types of Hetzner's own client, and reads an
// emulated API with that client.
package main

import "serverless-ccm.test/vendor-models/judge"

func main() {
	judge.Main("hcloud", probeAPI, judge.Client{
		Command: "read",
		Usage:   "ENDPOINT TOKEN LABEL-SELECTOR",
		Run:     readCloud,
	})
}
