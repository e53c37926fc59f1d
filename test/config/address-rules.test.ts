import { describe, expect, test } from "vitest";
import { createAddressJudge, parseAllowedNetworks } from "#config/address-rules.ts";

const STRICT = createAddressJudge({ trustsEntries: false, networks: [] });
const TRUSTING = createAddressJudge({ trustsEntries: true, networks: [] });
const KAMAJI = createAddressJudge({
  trustsEntries: false,
  networks: ["10.0.0.0/8", "fd12::/16", "!10.96.0.0/12"],
});

describe("an address", () => {
  const never = [
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::a9fe:a9fe",
    "100.100.100.200",
    "168.63.129.16",
    "224.0.0.1",
    "255.255.255.255",
    "ff02::1",
  ];
  test.each(never)("%s is never connected to", (address) => {
    const everything = createAddressJudge({ trustsEntries: true, networks: ["0.0.0.0/0", "::/0"] });
    expect([everything, STRICT, TRUSTING].map((judge) => typeof judge(address))).toEqual(
      Array(3).fill("string"),
    );
  });

  const internal = [
    "127.0.0.1",
    "127.8.8.8",
    "::1",
    "::",
    "0.0.0.0",
    "10.1.2.3",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "198.18.0.1",
    "fd12::1",
    "::ffff:10.1.2.3",
    "::ffff:0a01:0203",
    "64:ff9b::10.1.2.3",
    "2002:0a01:0203::1",
  ];
  test.each(internal)(
    "%s is connected to where the operator means it, or has allowed its network",
    (address) => {
      expect([STRICT(address), TRUSTING(address)]).toEqual([
        `${address} is internal, and in no network of --allowed-networks`,
        undefined,
      ]);
      const everything = createAddressJudge({ trustsEntries: false, networks: ["0.0.0.0/0", "::/0"] });
      expect(everything(address)).toBeUndefined();
    },
  );

  test.each(["8.8.8.8", "172.32.0.1", "192.169.0.1", "2a05:d014::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])(
    "%s is allowed everywhere",
    (address) => {
      expect([STRICT(address), TRUSTING(address)]).toEqual([undefined, undefined]);
    },
  );

  test.each<[string, boolean]>([
    ["10.1.2.3", true],
    ["::ffff:10.1.2.3", true],
    ["10.96.0.1", false],
    ["::ffff:10.96.0.1", false],
    ["10.111.255.255", false],
    ["10.112.0.0", true],
    ["192.168.0.1", false],
    ["fd12:3::1", true],
    ["fd13::1", false],
    // The way to it is allowed, and what it leads to is not.
    ["64:ff9b::192.168.0.1", false],
  ])("%s with some networks allowed: %s", (address, isAllowed) => {
    expect(KAMAJI(address) === undefined).toBe(isAllowed);
  });
});

describe("networks of an operator", () => {
  test("are read with commas or spaces between them", () => {
    const networks = ["10.0.0.0/8", "!10.96.0.0/12", "fd00::/8", "192.0.2.7"];
    expect(parseAllowedNetworks("10.0.0.0/8, !10.96.0.0/12 fd00::/8,192.0.2.7")).toEqual({
      kind: "networks",
      networks,
    });
    expect(parseAllowedNetworks("")).toEqual({ kind: "networks", networks: [] });
  });

  test("are rejected, each by itself", () => {
    expect(parseAllowedNetworks("10.0.0.0/33,ten,fe80::1%eth0/64,169.254.169.254,fd00::/8")).toEqual({
      kind: "faults",
      faults: [
        expect.stringContaining('"10.0.0.0/33" is not a network'),
        expect.stringContaining('"ten" is not a network'),
        expect.stringContaining('"fe80::1%eth0/64" has a zone'),
        expect.stringContaining('"169.254.169.254" cannot be allowed'),
      ],
    });
  });
});
