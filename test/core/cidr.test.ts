import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  canonicalizeCidr,
  canonicalizeIp,
  formatCidr,
  formatIp,
  getCidrEnds,
  hasOverlap,
  isIPv6Network,
  isWithin,
  parseCidr,
} from "#core/cidr.ts";

describe("a network is parsed in any spelling and formatted in one", () => {
  test.each([
    ["10.0.0.0/16", "10.0.0.0/16"],
    ["10.0.3.7/16", "10.0.0.0/16"],
    ["010.000.0.0/16", "10.0.0.0/16"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["1.2.3.4/32", "1.2.3.4/32"],
    ["2001:DB8::/32", "2001:db8::/32"],
    ["2001:0db8:0000:0000:0000:0000:0000:0000/064", "2001:db8::/64"],
    ["2001:db8:0:0:1:0:0:1/128", "2001:db8::1:0:0:1/128"],
    ["2001:db8:0:1:1:1:1:1/128", "2001:db8:0:1:1:1:1:1/128"],
    ["::/0", "::/0"],
    ["::1/128", "::1/128"],
    ["1:2:3:4:5:6:7:8/128", "1:2:3:4:5:6:7:8/128"],
    ["fd00:10:ffff::/48", "fd00:10:ffff::/48"],
    ["fd00:10:0:ffff::/56", "fd00:10:0:ff00::/56"],
  ])("%s becomes %s", (text, canonical) => {
    expect(canonicalizeCidr(text)).toBe(canonical);
    expect(canonicalizeCidr(canonical)).toBe(canonical);
  });

  test.each([
    "",
    "10.0.0.0",
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/-1",
    "10.0.0.0/a",
    "10.0.0.0/8/8",
    "10.0.0/8",
    "/8",
    "::ffff:10.0.0.0/104",
    "10.0.0.0/1e1",
    "10.0.0.0/0008",
  ])("%j is not a network", (text) => {
    expect(canonicalizeCidr(text)).toBeUndefined();
  });

  test("formatting and parsing any network returns it unchanged", () => {
    const cidr = fc.oneof(
      fc.tuple(fc.constant(4 as const), fc.bigInt(0n, 2n ** 32n - 1n), fc.integer({ min: 0, max: 32 })),
      fc.tuple(
        fc.constant(6 as const),
        fc.bigInt(2n ** 64n, 2n ** 128n - 1n),
        fc.integer({ min: 0, max: 128 }),
      ),
    );
    // biome-ignore lint/nursery/noFloatingPromises: a property that is synchronous is asserted synchronously
    fc.assert(
      fc.property(cidr, ([family, value, length]) => {
        const free = BigInt((family === 4 ? 32 : 128) - length);
        const read = { family, first: (value >> free) << free, length };
        expect(parseCidr(formatCidr(read))).toEqual(read);
      }),
    );
  });
});

test.each([
  ["10.0.0.0/8", false],
  ["fd00::/8", true],
  ["::ffff:10.0.0.0/104", true],
])("decides whether %s is IPv6", (network, is) => {
  expect(isIPv6Network(network)).toBe(is);
});

describe("networks", () => {
  const cidr = (text: string) => parseCidr(text) ?? expect.fail(text);

  test.each([
    ["10.1.0.0/24", "10.0.0.0/8", true, true],
    ["10.0.0.0/8", "10.0.0.0/8", true, true],
    ["10.0.0.0/8", "10.1.0.0/24", false, true],
    ["11.0.0.0/24", "10.0.0.0/8", false, false],
    ["::/0", "0.0.0.0/0", false, false],
    ["fd00:10:1::/64", "fd00:10::/32", true, true],
  ])("%s within %s: %s; overlapping: %s", (inner, outer, within, overlap) => {
    expect(isWithin(cidr(inner), cidr(outer))).toBe(within);
    expect(hasOverlap(cidr(inner), cidr(outer))).toBe(overlap);
  });
});

test.each([
  ["10.0.0.1", "10.0.0.1"],
  ["010.000.0.1", "10.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["FD00:0:0:0:0:0:0:1", "fd00::1"],
  ["10.0.0.1/32", undefined],
  ["web", undefined],
])("the canonical spelling of address %s is %s", (text, canonical) => {
  expect(canonicalizeIp(text)).toBe(canonical);
});

test.each([
  ["10.0.0.8/30", "10.0.0.8", "10.0.0.11"],
  ["10.0.0.1/32", "10.0.0.1", "10.0.0.1"],
  ["10.0.0.0/8", "10.0.0.0", "10.255.255.255"],
  ["fd00::/64", "fd00::", "fd00::ffff:ffff:ffff:ffff"],
])("%s ranges from %s to %s", (text, first, last) => {
  const cidr = parseCidr(text);
  const ends = cidr && getCidrEnds(cidr);
  expect(ends && [formatIp(ends.first), formatIp(ends.last)]).toEqual([first, last]);
});
