// Command digitalocean judges exchanges with DigitalOcean's API by the types of DigitalOcean's own client, and
// reads an emulated API with that client.
package main

import "serverless-ccm.test/vendor-models/judge"

func main() {
	judge.Main("digitalocean", probeAPI, judge.Client{
		Command: "play",
		Usage:   "ENDPOINT TOKEN DROPLET-TAG",
		Run:     playCloud,
	})
}
