import { accept, type Reader, reject, splitItems } from "#clouds/annotations/readers.ts";
import { parseInteger } from "#clouds/aws/load-balancers/annotations/readers.ts";
import type { ServicePort } from "#core/service/service.ts";

/** Ports of a Service by number, or by lower-case name. */
export interface PortSet {
  readonly numbers: readonly number[];
  readonly names: readonly string[];
}

/** Reads `ssl-ports`: names or numbers of ports; undefined means all ports. */
export const readTlsPorts: Reader<PortSet | undefined> = (written) => {
  const items = splitItems(written);
  if (items.length === 0 || (items.length === 1 && items[0] === "*")) return accept(undefined);
  const numbers = items.flatMap((item) => parseInteger(item) ?? []);
  const names = items.filter((item) => parseInteger(item) === undefined).map((item) => item.toLowerCase());
  const isGood = numbers.every((number) => number >= 1 && number <= 65_535) && names.every(isPortName);
  return isGood
    ? accept({ numbers, names })
    : reject("* or names and numbers of the Service's ports, as 443,https");
};

/** Whether a set includes a port. */
export function isAmong(ports: PortSet | undefined, { port, name }: ServicePort): boolean {
  if (ports === undefined || ports.numbers.includes(port)) return true;
  return name !== undefined && ports.names.includes(name.toLowerCase());
}

/** Whether a text is a DNS label, as names of a Service's ports are. */
function isPortName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}
