import { canonicalCidr } from "#core/cidr.ts";
import { goBoolean } from "#core/go-boolean.ts";
import { parseIp } from "#core/ip.ts";

/** What a text was read as, or what it may be, in words that end "… is …; allowed: ". */
export type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly allowed: string };

/** Reads a text that is not empty and has no white space around it. */
export type Reader<Value> = (text: string) => Read<Value>;

/** A text of a shape. */
export function text(shape: RegExp, allowed: string): Reader<string> {
  return (written) => (shape.test(written) ? is(written) : mayBe(allowed));
}

/** What Go reads as a boolean. */
export const boolean: Reader<boolean> = (written) => {
  const value = goBoolean(written);
  return value === undefined ? mayBe("true or false") : is(value);
};

/** One of a few words. */
export function oneOf<const Word extends string>(...words: readonly Word[]): Reader<Word> {
  return (written) => {
    const word = words.find((each) => each === written);
    return word === undefined ? mayBe(`${words.slice(0, -1).join(", ")} or ${words.at(-1)}`) : is(word);
  };
}

/** A whole number from one to another, both included. */
export function wholeNumber(from: number, to: number): Reader<number> {
  return (written) => {
    const isGood = /^\d{1,15}$/.test(written) && Number(written) >= from && Number(written) <= to;
    return isGood ? is(Number(written)) : mayBe(`a whole number from ${from} to ${to}`);
  };
}

/** Numbers of ports between commas. */
export const ports: Reader<readonly number[]> = (written) => {
  const items = itemsOf(written);
  const isGood = items.length <= MAX_ITEMS && items.every((item) => port(item).ok);
  return isGood ? is([...new Set(items.map(Number))]) : mayBe("ports between commas, such as 443,8443");
};

/** The number of a port. */
export const port = wholeNumber(1, 65_535);

/** Rules of a firewall between commas; networks in their one spelling. */
export const firewallRules: Reader<readonly string[]> = (written) => {
  const items = itemsOf(written);
  const rules = items.map(firewallRule);
  const isGood = items.length <= MAX_ITEMS && rules.every((rule) => rule !== undefined);
  return isGood
    ? is([...new Set(rules.filter((rule) => rule !== undefined))].sort())
    : mayBe("addresses and networks between commas, such as ip:192.0.2.1,cidr:198.51.100.0/24");
};

/** That it is there is all it says. */
export const presence: Reader<true> = () => is(true);

function firewallRule(item: string): string | undefined {
  if (item.startsWith("ip:")) return parseIp(item.slice(3)) === undefined ? undefined : item;
  if (!item.startsWith("cidr:")) return undefined;
  const network = canonicalCidr(item.slice(5));
  return network === undefined ? undefined : `cidr:${network}`;
}

function itemsOf(written: string): readonly string[] {
  return written
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function is<Value>(value: Value): Read<Value> {
  return { ok: true, value };
}

function mayBe(allowed: string): Read<never> {
  return { ok: false, allowed };
}

/** More than a load balancer takes, so that what a tenant writes costs little to read. */
const MAX_ITEMS = 1_000;
