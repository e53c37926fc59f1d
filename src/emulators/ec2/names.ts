/** Returns EC2's name of a private IPv4 address, such as `ip-10-0-0-1.eu-central-1.compute.internal`. */
export function formatPrivateDnsName(address: string, region: string): string {
  const domain = region === "us-east-1" ? "ec2.internal" : `${region}.compute.internal`;
  return `ip-${address.replaceAll(".", "-")}.${domain}`;
}

/** Returns EC2's name of a public IPv4 address. */
export function formatPublicDnsName(address: string, region: string): string {
  const zone = region === "us-east-1" ? "compute-1" : `${region}.compute`;
  return `ec2-${address.replaceAll(".", "-")}.${zone}.amazonaws.com`;
}

/** Returns the prefix of a region's zone IDs: `euc1` for eu-central-1, `apse2` for ap-southeast-2. */
export function getZoneIdPrefix(region: string): string {
  const parts = region.split("-");
  const number = parts.at(-1) ?? "";
  const places = parts.slice(1, -1).map((part) => DIRECTIONS[part] ?? part.slice(0, 1));
  return `${parts[0] ?? ""}${places.join("")}${number}`;
}

const DIRECTIONS: Readonly<Record<string, string>> = {
  northeast: "ne",
  northwest: "nw",
  southeast: "se",
  southwest: "sw",
};

/** Returns an ID in EC2's form, a prefix and 17 hexadecimal digits, from an index. */
export function formatId(prefix: string, index: number): string {
  return `${prefix}-${index.toString(16).padStart(17, "0")}`;
}
