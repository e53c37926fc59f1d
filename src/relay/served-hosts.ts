import { isIP } from "node:net";

/**
 * Decides whether the relay answers a request with this Host header; the check prevents DNS rebinding.
 *
 * A page from another site can resolve that site's name to the relay and read its answers as its own. The
 * browser then sends the other site's name, so names are checked. Addresses are not checked: probes and
 * Prometheus send the pod's address. Outside of a cluster no one can register a name that ends like those of
 * Services.
 *
 * Other headers do not help. To a plain HTTP site browsers send no `Sec-Fetch-*`, and for a page of the same
 * name no `Origin`.
 */
export type HostCheck = (host: string | undefined) => boolean;

/** Names that no public DNS zone can contain, and their subdomains. */
const LOCAL_SUFFIXES = ["localhost", "svc", "svc.cluster.local"];

/** Creates the check. `names` are DNS names without a port, in any spelling. */
export function createHostCheck(names: readonly string[]): HostCheck {
  const served = new Set(names.map(canonicalize));
  return (host) => {
    // HTTP/1.0 needs no Host, and no browser sends it; HTTP/1.1 without one was rejected before.
    if (host === undefined) return true;
    const { address, name } = parseHost(host);
    if (address !== undefined) return isIP(address) !== 0;
    if (name === undefined) return false;
    const last = canonicalize(name);
    return served.has(last) || LOCAL_SUFFIXES.some((each) => last === each || last.endsWith(`.${each}`));
  };
}

const HOST = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d{0,5})?$/;

function parseHost(host: string): { readonly address?: string | undefined; readonly name?: string } {
  const [, bracketed, plain] = HOST.exec(host) ?? [];
  // A zone belongs to the sender and names no host.
  if (bracketed !== undefined) return { address: bracketed.split("%", 1)[0] };
  if (plain === undefined) return {};
  if (isIP(plain) !== 0) return { address: plain };
  return DNS_NAME.test(plain) ? { name: plain } : {};
}

const DNS_NAME = /^(?=.{1,254}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*\.?$/i;

function canonicalize(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

/** The parsed value of `--allowed-hosts`, or its invalid names. */
export type ParsedHosts =
  | { readonly kind: "hosts"; readonly hosts: readonly string[] }
  | { readonly kind: "faults"; readonly faults: readonly string[] };

const MAX_HOSTS = 100;

/** Parses DNS names separated by commas. */
export function parseAllowedHosts(text: string): ParsedHosts {
  const hosts = text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
  if (hosts.length > MAX_HOSTS)
    return { kind: "faults", faults: [`${hosts.length} names; give at most ${MAX_HOSTS}`] };
  const faults = hosts
    .filter((each) => !DNS_NAME.test(each))
    .map(
      (each) =>
        `${JSON.stringify(each.slice(0, 100))} is not a DNS name; give names such as relay.example.org, without a port`,
    );
  return faults.length > 0 ? { kind: "faults", faults } : { kind: "hosts", hosts };
}
