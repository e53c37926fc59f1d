import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type AddressSet,
  buildAddressSet,
  buildInnerRange,
  buildRange,
  findFreeAddress,
  isIn,
} from "#clouds/addresses/ranges.ts";
import { formatIp, parseCidr } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";
import { SEED } from "#test/seed.ts";

const cidr = (text: string) => {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(`${text} is not a network`);
  return parsed;
};
const freeOf = (texts: readonly string[], used: readonly string[], search = {}) => {
  const free = findFreeAddress(
    texts.map((text) => buildRange(cidr(text))),
    buildAddressSet(used),
    search,
  );
  return free && formatIp(free);
};

describe("the first free address", () => {
  test.each([
    ["of an empty network", ["10.0.0.0/30"], [], "10.0.0.0"],
    ["after a used one", ["10.0.0.0/30"], ["10.0.0.0"], "10.0.0.1"],
    ["in a gap", ["10.0.0.0/30"], ["10.0.0.0", "10.0.0.2"], "10.0.0.1"],
    ["of the next network", ["10.0.0.0/31", "10.1.0.0/31"], ["10.0.0.0", "10.0.0.1"], "10.1.0.0"],
    ["of a network without a free address", ["10.0.0.0/31"], ["10.0.0.0", "10.0.0.1"], undefined],
    ["without networks", [], [], undefined],
    ["with invalid entries", ["10.0.0.0/31"], ["web", ""], "10.0.0.0"],
    ["of IPv6", ["fd00::/64"], ["fd00::", "FD00:0::1"], "fd00::2"],
    ["with an equal number in the other family", ["::a00:0/127"], ["10.0.0.0"], "::a00:0"],
  ])("%s", (_, networks, used, free) => {
    expect(freeOf(networks, used)).toBe(free);
  });

  test("is searched from the end if configured", () => {
    const networks = ["10.0.0.0/31", "10.1.0.0/31"];
    expect(freeOf(networks, ["10.1.0.1"], { fromEnd: true })).toBe("10.1.0.0");
    expect(freeOf(networks, ["10.1.0.1", "10.1.0.0"], { fromEnd: true })).toBe("10.0.0.1");
  });

  test("is not a reserved one", () => {
    const isGiven = ({ value }: { value: bigint }) => value % 2n === 1n;
    expect(freeOf(["10.0.0.0/30"], ["10.0.0.1"], { isGiven })).toBe("10.0.0.3");
  });

  test.each(["10.0.0.0/8", "fd00::/64", "::/0"])(
    "in %s takes as many steps as addresses are in use before it",
    (text) => {
      let steps = 0;
      const used = buildAddressSet([]);
      const counted = {
        has(ip: Parameters<typeof used.has>[0]) {
          steps += 1;
          return used.has(ip);
        },
      };
      for (let index = 0; index < 50; index += 1) {
        const free = findFreeAddress([buildRange(cidr(text))], counted);
        if (free === undefined) throw new Error("none is free");
        used.add(free);
      }
      expect(steps).toBe((50 * 51) / 2);
    },
  );
});

test.each([false, true])(
  "the search in a thousand overlapping ranges ends after 200,000 steps (from the end: %s)",
  (fromEnd) => {
    let looks = 0;
    const full: AddressSet = {
      has() {
        looks += 1;
        return true;
      },
    };
    const ranges = Array.from({ length: 1_000 }, () => buildRange(cidr("10.0.0.0/16")));
    expect(findFreeAddress(ranges, full, { fromEnd })).toBeUndefined();
    expect(looks).toBe(200_000);
  },
);

test.each([
  ["10.0.0.0/24", "10.0.0.1", "10.0.0.254"],
  ["10.0.0.8/30", "10.0.0.9", "10.0.0.10"],
  ["10.0.0.8/31", "10.0.0.8", "10.0.0.9"],
  ["10.0.0.8/32", "10.0.0.8", "10.0.0.8"],
])("%s without its ends goes from %s to %s", (text, first, last) => {
  const range = buildInnerRange(cidr(text));
  const { family } = range;
  expect([formatIp({ family, value: range.first }), formatIp({ family, value: range.last })]).toEqual([
    first,
    last,
  ]);
});

test("an address is only in ranges of its own family", () => {
  const range = buildRange(cidr("10.0.0.0/8"));
  expect(["10.1.2.3", "11.0.0.0", "::a00:0"].map((text) => isIn(parseIp(text) as never, range))).toEqual([
    true,
    false,
    false,
  ]);
});

test("successive addresses are all different, and all in the ranges", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const network = fc
    .tuple(octet, fc.integer({ min: 28, max: 32 }))
    .map(([last, length]) => `10.0.0.${last}/${length}`);
  fc.assert(
    fc.property(fc.array(network, { maxLength: 4 }), fc.boolean(), (networks, fromEnd) => {
      const ranges = networks.map((text) => buildRange(cidr(text)));
      const used = buildAddressSet([]);
      const given: string[] = [];
      for (;;) {
        const free = findFreeAddress(ranges, used, { fromEnd });
        if (free === undefined) break;
        used.add(free);
        given.push(formatIp(free));
        expect(ranges.some((range) => isIn(free, range))).toBe(true);
      }
      const all = new Set(
        ranges.flatMap(({ first, last }) =>
          Array.from({ length: Number(last - first) + 1 }, (_, at) => first + BigInt(at)),
        ),
      );
      expect([new Set(given).size, given.length]).toEqual([all.size, all.size]);
    }),
    { seed: SEED },
  );
});
