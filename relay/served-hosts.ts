import { isIP } from "node:net";

/**
 * Whether the relay answers a request with this Host header. A page that a browser loads from a stranger's site can have that site's
 * name resolve to the relay, and read its answers as its own (DNS rebinding). The browser then sends the stranger's name, so names are
 * checked, and addresses are not: probes and Prometheus send the pod's. Nobody outside of a cluster can register a name that ends as
 * those of Services do. Other headers do not tell: to a plain HTTP site browsers send no `Sec-Fetch-*`, and for a page of the same
 * name no `Origin`.
 */
export type IsServedHost = (host: string | undefined) => boolean;

/** Names that no stranger's DNS answers for, and their subdomains. */
const NOBODYS = ["localhost", "svc", "svc.cluster.local"];

/** `names` are DNS names without a port, in any spelling. */
export function servedHosts(names: readonly string[]): IsServedHost {
  const served = new Set(names.map(canonical));
  return (host) => {
    // HTTP/1.0 needs no Host, and no browser sends it; HTTP/1.1 without one is refused before.
    if (host === undefined) return true;
    const { address, name } = partsOf(host);
    if (address !== undefined) return isIP(address) !== 0;
    if (name === undefined) return false;
    const last = canonical(name);
    return served.has(last) || NOBODYS.some((each) => last === each || last.endsWith(`.${each}`));
  };
}

const HOST = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d{0,5})?$/;

function partsOf(host: string): { readonly address?: string | undefined; readonly name?: string } {
  const [, bracketed, plain] = HOST.exec(host) ?? [];
  // A zone is the sender's, and names no host.
  if (bracketed !== undefined) return { address: bracketed.split("%", 1)[0] };
  if (plain === undefined) return {};
  if (isIP(plain) !== 0) return { address: plain };
  return DNS_NAME.test(plain) ? { name: plain } : {};
}

const DNS_NAME = /^(?=.{1,254}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*\.?$/i;

function canonical(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

/** What `--allowed-hosts` says, or the names in it that are none. */
export type ParsedHosts =
  | { readonly kind: "hosts"; readonly hosts: readonly string[] }
  | { readonly kind: "faults"; readonly faults: readonly string[] };

const MAX_HOSTS = 100;

/** Parses DNS names between commas. */
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
        `${JSON.stringify(each.slice(0, 100))} is no DNS name; give names such as relay.example.org, without a port`,
    );
  return faults.length > 0 ? { kind: "faults", faults } : { kind: "hosts", hosts };
}
