import { describe, expect, test } from "vitest";
import { type AddressRequest, type Choice, choose, isOfPool } from "#clouds/kubevip/load-balancers/choose.ts";
import {
  createSharingCheck,
  findConflict,
  type Holder,
  isYounger,
  parseAddresses,
} from "#clouds/kubevip/load-balancers/holders.ts";
import type { PoolData } from "#clouds/kubevip/load-balancers/pool.ts";

const WANTED: AddressRequest = { uid: "uid-web", namespace: "blue", ports: [80], ipFamilies: [] };
const holder = (name: string, address: string, difference: Partial<Holder> = {}): Holder => ({
  ...{ uid: `uid-${name}`, namespace: "blue", name, created: "2026-01-01T00:00:00Z", ports: [80] },
  addresses: address === "" ? [] : address.split(","),
  ...difference,
});
const chosen = (choice: Choice): string =>
  choice.kind === "none" ? choice.code : choice.addresses.join(",");
const of = (data: PoolData, wanted: Partial<AddressRequest> = {}, holders: readonly Holder[] = []): string =>
  chosen(choose(data, { ...WANTED, ...wanted }, holders));

describe("the pool", () => {
  test.each<[string, PoolData, string]>([
    [
      "gives from the namespace's own network first",
      { "cidr-blue": "10.1.0.0/24", "cidr-global": "10.2.0.0/24", "range-blue": "10.3.0.1-10.3.0.9" },
      "10.1.0.1",
    ],
    [
      "gives from the global network before the namespace's ranges",
      { "cidr-global": "10.2.0.0/24", "range-blue": "10.3.0.1-10.3.0.9" },
      "10.2.0.1",
    ],
    [
      "gives from the namespace's ranges before the global ones",
      { "range-blue": "10.3.0.7-10.3.0.9", "range-global": "10.4.0.1-10.4.0.9" },
      "10.3.0.7",
    ],
    ["gives from the global ranges last", { "range-global": "10.4.0.7-10.4.0.9" }, "10.4.0.7"],
    ["gives nothing from another namespace's network", { "cidr-red": "10.1.0.0/24" }, "NoPool"],
    ["is missing in an empty ConfigMap", {}, "NoPool"],
    ["may be a network with host bits", { "cidr-global": "192.168.1.77/24" }, "192.168.1.1"],
    [
      "may be several networks with spaces between them",
      { "cidr-global": " 10.0.0.0/32 , 10.1.0.0/24" },
      "10.1.0.1",
    ],
    ["may be ranges under the key for networks", { "cidr-global": "10.4.0.7-10.4.0.9" }, "10.4.0.7"],
    ["may be by DHCP", { "cidr-global": "0.0.0.0/32" }, "0.0.0.0"],
    ["is invalid if it is empty", { "cidr-blue": "", "cidr-global": "10.2.0.0/24" }, "InvalidPool"],
    ["is invalid with a word", { "cidr-global": "10.0.0.0/24,web" }, "InvalidPool"],
    ["is invalid with half a range", { "range-global": "10.0.0.1" }, "InvalidPool"],
    [
      "is invalid with a range whose end precedes its beginning",
      { "range-global": "10.0.0.9-10.0.0.1" },
      "InvalidPool",
    ],
    ["is invalid with a range of two IP families", { "range-global": "10.0.0.1-fd00::1" }, "InvalidPool"],
    [
      "is invalid with too many parts",
      { "cidr-global": Array(1_001).fill("10.0.0.0/24").join() },
      "InvalidPool",
    ],
    [
      "gives no first and no last address with skip-end-ips-in-cidr",
      { "cidr-global": "10.0.0.4/30", "skip-end-ips-in-cidr": "true" },
      "10.0.0.5",
    ],
    [
      "gives the first address without skip-end-ips-in-cidr",
      { "cidr-global": "10.0.0.4/30", "skip-end-ips-in-cidr": "false" },
      "10.0.0.4",
    ],
    [
      "gives the first address of a /31 even with skip-end-ips-in-cidr",
      { "cidr-global": "10.0.0.4/31", "skip-end-ips-in-cidr": "true" },
      "10.0.0.4",
    ],
    [
      "gives the first address of an IPv6 network even with skip-end-ips-in-cidr",
      { "cidr-global": "fd00::/126", "skip-end-ips-in-cidr": "true" },
      "fd00::",
    ],
    [
      "gives the last address with search-order desc",
      { "cidr-global": "10.0.0.4/30", "search-order": "desc" },
      "10.0.0.7",
    ],
    [
      "gives the address before the last with search-order desc and skip-end-ips-in-cidr",
      { "cidr-global": "10.0.0.4/30", "search-order": "desc", "skip-end-ips-in-cidr": "true" },
      "10.0.0.6",
    ],
    [
      "gives no address that ends in .255",
      { "cidr-global": "10.0.0.0/24", "search-order": "desc" },
      "10.0.0.254",
    ],
    ["gives no address that ends in .255 or .0", { "range-global": "10.0.0.255-10.0.1.3" }, "10.0.1.1"],
    [
      "is exhausted if only addresses in .255 and .0 are left",
      { "range-global": "10.0.0.255-10.0.1.0" },
      "PoolExhausted",
    ],
  ])("%s", (_, data, expected) => {
    expect(of(data)).toBe(expected);
  });

  test("with an unreadable value is reported briefly, however long it is", () => {
    const choice = choose({ "cidr-global": `10.0.0.0/24,${"web\n".repeat(100_000)}` }, WANTED, []);
    expect(choice).toMatchObject({
      code: "InvalidPool",
      message: expect.stringContaining('"web\\u{000A}web'),
    });
    expect(choice.kind === "none" && choice.message.length).toBeLessThan(100);
  });

  test("does not give an address twice, and ends", () => {
    const data = { "cidr-global": "10.0.0.4/30" };
    const holders = [
      holder("a", "10.0.0.4"),
      holder("b", "10.0.0.6"),
      holder("c", "10.0.0.5", { namespace: "red" }),
    ];
    expect(of(data, {}, holders)).toBe("10.0.0.7");
    expect(of(data, {}, [...holders, holder("d", "10.0.0.7")])).toBe("PoolExhausted");
    expect(of(data, {}, [holder("web", "10.0.0.4")])).toBe("10.0.0.4");
  });

  test.each(["10.0.0.0/8", "fd00::/64"])("of %s costs nothing", (cidr) => {
    expect(of({ "cidr-global": cidr })).not.toBe("PoolExhausted");
  });

  test("names the interface of its announcements", () => {
    const data = { "cidr-global": "10.0.0.0/24", "interface-global": "eth0", "interface-blue": "eth1 " };
    expect(choose(data, WANTED, [])).toMatchObject({ interface: "eth1" });
    expect(choose(data, { ...WANTED, namespace: "red" }, [])).toMatchObject({ interface: "eth0" });
    expect(choose({ "cidr-global": "10.0.0.0/24" }, WANTED, [])).toEqual({
      kind: "chosen",
      addresses: ["10.0.0.1"],
    });
  });

  test("has addresses or not, as far as it is readable", () => {
    const data = { "cidr-blue": "10.0.0.0/24", "cidr-red": "0.0.0.0/32", "cidr-green": "web" };
    const is = (namespace: string, address: string) => isOfPool(data, namespace, address);
    expect([is("blue", "10.0.0.7"), is("blue", "10.0.1.7"), is("red", "10.0.1.7")]).toEqual([
      true,
      false,
      true,
    ]);
    expect([is("green", "10.0.0.7"), is("none", "10.0.0.7"), is("blue", "web")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("IP families", () => {
  const both = { "cidr-global": "10.0.0.0/30,fd00::/126" };
  const four = { "cidr-global": "10.0.0.0/30" };
  const six = { "cidr-global": "fd00::/126" };
  const full = [1, 2, 3].map((last) => holder(`v4-${last}`, `10.0.0.${last}`));
  test.each<[string, PoolData, Partial<AddressRequest>, string, readonly Holder[]]>([
    ["without a request: IPv4 if both are available", both, {}, "10.0.0.1", []],
    ["without a request: IPv6 if only IPv6 is available", six, {}, "fd00::", []],
    ["IPv6", both, { ipFamilies: ["IPv6"] }, "fd00::", []],
    ["IPv6 is rejected without an IPv6 pool", four, { ipFamilies: ["IPv6"] }, "PoolLacksFamily", []],
    ["IPv4 is rejected without an IPv4 pool", six, { ipFamilies: ["IPv4"] }, "PoolLacksFamily", []],
    [
      "SingleStack with two families: the first one",
      both,
      { ipFamilies: ["IPv6", "IPv4"], ipFamilyPolicy: "SingleStack" },
      "fd00::",
      [],
    ],
    [
      "PreferDualStack: both if both are available",
      both,
      { ipFamilyPolicy: "PreferDualStack" },
      "10.0.0.1,fd00::",
      [],
    ],
    [
      "PreferDualStack with IPv6 first: both in that order",
      both,
      { ipFamilyPolicy: "PreferDualStack", ipFamilies: ["IPv6", "IPv4"] },
      "fd00::,10.0.0.1",
      [],
    ],
    [
      "PreferDualStack: one if the pool has one family",
      four,
      { ipFamilyPolicy: "PreferDualStack" },
      "10.0.0.1",
      [],
    ],
    [
      "PreferDualStack: one if one family is left",
      both,
      { ipFamilyPolicy: "PreferDualStack" },
      "fd00::",
      full,
    ],
    [
      "PreferDualStack: exhausted if no address is left",
      four,
      { ipFamilyPolicy: "PreferDualStack" },
      "PoolExhausted",
      full,
    ],
    ["RequireDualStack: both", both, { ipFamilyPolicy: "RequireDualStack" }, "10.0.0.1,fd00::", []],
    [
      "RequireDualStack: rejected if the pool has one family",
      four,
      { ipFamilyPolicy: "RequireDualStack" },
      "PoolLacksFamily",
      [],
    ],
    [
      "RequireDualStack: exhausted if one family is left",
      both,
      { ipFamilyPolicy: "RequireDualStack" },
      "PoolExhausted",
      full,
    ],
  ])("%s", (_, data, wanted, expected, holders) => {
    expect(of(data, wanted, holders)).toBe(expected);
  });
});

describe("an address is shared", () => {
  const data = { "cidr-global": "10.0.0.0/29", "allow-share-global": "true" };
  test.each<[string, PoolData, Partial<AddressRequest>, readonly Holder[], string]>([
    ["with a Service of other ports", data, { ports: [443] }, [holder("a", "10.0.0.3")], "10.0.0.3"],
    [
      "with Services of other ports: the lowest address",
      data,
      { ports: [443] },
      [holder("a", "10.0.0.3"), holder("b", "10.0.0.2")],
      "10.0.0.2",
    ],
    ["not with a Service of the same port", data, {}, [holder("a", "10.0.0.3")], "10.0.0.1"],
    [
      "not if one of several Services has the same port",
      data,
      { ports: [443] },
      [holder("a", "10.0.0.3"), holder("b", "10.0.0.3", { ports: [443] })],
      "10.0.0.1",
    ],
    ["not outside the pool", data, { ports: [443] }, [holder("a", "192.0.2.1")], "10.0.0.1"],
    ["not by a Service without ports", data, { ports: [] }, [holder("a", "10.0.0.3")], "10.0.0.1"],
    [
      "not with a Service without ports",
      data,
      { ports: [443] },
      [holder("a", "10.0.0.3", { ports: [] })],
      "10.0.0.1",
    ],
    [
      "not without the setting",
      { "cidr-global": "10.0.0.0/29" },
      { ports: [443] },
      [holder("a", "10.0.0.3")],
      "10.0.0.1",
    ],
    [
      "not if the Service's namespace forbids it",
      { ...data, "allow-share-blue": "false" },
      { ports: [443] },
      [holder("a", "10.0.0.3")],
      "10.0.0.1",
    ],
    [
      "not if the other's namespace forbids it",
      { ...data, "allow-share-red": "false" },
      { ports: [443] },
      [holder("a", "10.0.0.3", { namespace: "red" })],
      "10.0.0.1",
    ],
    [
      "not for IPv6",
      { ...data, "cidr-global": "fd00::/126" },
      { ports: [443] },
      [holder("a", "fd00::2")],
      "fd00::",
    ],
  ])("%s", (_, pools, wanted, holders, expected) => {
    expect(of(pools, wanted, holders)).toBe(expected);
  });
});

test.each([
  ["", []],
  ["10.0.0.1", ["10.0.0.1"]],
  [" FD00:0::1 , 10.0.0.1", ["fd00::1", "10.0.0.1"]],
  ["10.0.0.1,", undefined],
  ["web", undefined],
])("the annotation %j has %j", (text, addresses) => {
  expect(parseAddresses(text)).toEqual(addresses);
});

test("the oldest Service is the one in conflict, and age and uid give a strict order", () => {
  const old = holder("old", "10.0.0.1", { created: "2025-01-01T00:00:00Z" });
  const young = holder("young", "10.0.0.1");
  const met = findConflict(WANTED, ["10.0.0.1", "10.0.0.2"], [young, old], createSharingCheck({}));
  expect(met).toBe(old);
  expect(findConflict(WANTED, ["0.0.0.0"], [holder("a", "0.0.0.0")], createSharingCheck({}))).toBeUndefined();
  expect([isYounger(young, old), isYounger(old, young), isYounger(young, young)]).toEqual([
    true,
    false,
    false,
  ]);
  expect(isYounger(holder("a", ""), holder("b", ""))).toBe(false);
});
