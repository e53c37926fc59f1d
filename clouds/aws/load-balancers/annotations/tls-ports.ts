import { is, itemsOf, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { numberOf } from "#clouds/aws/load-balancers/annotations/reading.ts";
import type { ServicePort } from "#core/service/service.ts";

/** Ports of a Service by number, or by name in lower case. */
export interface PortSet {
  readonly numbers: readonly number[];
  readonly names: readonly string[];
}

/** Reads `ssl-ports`: names or numbers of ports; undefined is all of them. */
export const tlsPorts: Reader<PortSet | undefined> = (written) => {
  const items = itemsOf(written);
  if (items.length === 0 || (items.length === 1 && items[0] === "*")) return is(undefined);
  const numbers = items.flatMap((item) => numberOf(item) ?? []);
  const names = items.filter((item) => numberOf(item) === undefined).map((item) => item.toLowerCase());
  const isGood = numbers.every((number) => number >= 1 && number <= 65_535) && names.every(isPortName);
  return isGood
    ? is({ numbers, names })
    : mayBe("* or names and numbers of the Service's ports, as 443,https");
};

/** Whether a port is one of a set. */
export function isAmong(ports: PortSet | undefined, { port, name }: ServicePort): boolean {
  if (ports === undefined || ports.numbers.includes(port)) return true;
  return name !== undefined && ports.names.includes(name.toLowerCase());
}

/** Names of a Service's ports are DNS labels. */
function isPortName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}
