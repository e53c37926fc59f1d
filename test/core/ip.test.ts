import { describe, expect, test } from "vitest";
import { isSameIp, isUnspecified, parseIp } from "#core/ip.ts";

describe("an IP address", () => {
  test.each([
    ["10.0.0.1", 4, 0x0a000001n],
    ["0.0.0.0", 4, 0n],
    ["255.255.255.255", 4, 0xffffffffn],
    ["010.000.0.0008", 4, 0x0a000008n],
    ["::", 6, 0n],
    ["::1", 6, 1n],
    ["1::", 6, 1n << 112n],
    ["2001:db8::a:b", 6, 0x20010db8_00000000_00000000_000a000bn],
    ["2001:DB8:0:0:0:0:A:B", 6, 0x20010db8_00000000_00000000_000a000bn],
    ["1:2:3:4:5:6:7::", 6, 0x0001_0002_0003_0004_0005_0006_0007_0000n],
    ["64:ff9b::192.0.2.1", 6, 0x0064ff9b_00000000_00000000_c0000201n],
    ["::ffff:10.0.0.1", 4, 0x0a000001n],
    ["::ffff:010.0.0.1", 4, 0x0a000001n],
    ["::FFFF:a00:1", 4, 0x0a000001n],
  ] as const)("%s", (text, family, value) => {
    expect(parseIp(text)).toEqual({ family, value });
  });
});

describe("an invalid IP address", () => {
  test.each([
    ["empty", ""],
    ["white space before", " 10.0.0.1"],
    ["white space after", "10.0.0.1 "],
    ["a line end after", "10.0.0.1\n"],
    ["a prefix length", "10.0.0.0/8"],
    ["three octets", "10.0.1"],
    ["five octets", "10.0.0.0.1"],
    ["an octet too large", "10.0.0.256"],
    ["a negative octet", "10.0.0.-1"],
    ["a hexadecimal octet", "10.0.0.0x1"],
    ["an empty octet", "10.0..1"],
    ["a host name", "ip-10-0-0-1.ec2.internal"],
    ["a zone", "fe80::1%eth0"],
    ["an IPv6 prefix length", "fe80::/10"],
    ["two gaps", "1::2::3"],
    ["a gap for nothing", "1:2:3:4:5:6:7:8::"],
    ["seven groups", "1:2:3:4:5:6:7"],
    ["nine groups", "1:2:3:4:5:6:7:8:9"],
    ["a group too long", "12345::"],
    ["three colons", "1:::2"],
    ["a colon alone", ":"],
    ["a colon before", ":1:2:3:4:5:6:7"],
    ["a bad dotted tail", "::ffff:10.0.0.256"],
    ["a dotted tail that is not last", "10.0.0.1::1"],
    ["something very long", `${"0".repeat(200)}1.0.0.1`],
  ])("%s", (_, text) => {
    expect(parseIp(text)).toBeUndefined();
  });
});

describe("two IP addresses", () => {
  test.each([
    ["10.0.0.1", "010.0.0.1", true],
    ["10.0.0.1", "::ffff:10.0.0.1", true],
    ["2001:db8::1", "2001:0db8:0::0001", true],
    ["10.0.0.1", "10.0.0.2", false],
    ["10.0.0.1", "::10.0.0.1", false],
    ["0.0.0.0", "::", false],
  ])("%s and %s are equal: %s", (a, b, same) => {
    expect(isSameIp(parsed(a), parsed(b))).toBe(same);
  });
});

test.each([
  ["0.0.0.0", true],
  ["::", true],
  ["::ffff:0.0.0.0", true],
  ["::1", false],
])("%s is unspecified: %s", (text, unspecified) => {
  expect(isUnspecified(parsed(text))).toBe(unspecified);
});

function parsed(text: string) {
  const ip = parseIp(text);
  if (ip === undefined) throw new Error(`${text} is no IP address`);
  return ip;
}
