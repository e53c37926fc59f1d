import {
  DescribeAvailabilityZonesCommand,
  DescribeInstancesCommand,
  type DescribeInstancesCommandInput,
  DescribeInstanceTopologyCommand,
  DescribeNetworkInterfacesCommand,
  type DescribeNetworkInterfacesCommandInput,
  type EC2Client,
  type Instance,
} from "@aws-sdk/client-ec2";
import { AssumeRoleCommand, GetCallerIdentityCommand, type STSClient } from "@aws-sdk/client-sts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectViolations } from "#test/aws-models/aws-calls.ts";
import {
  type Capability,
  type Credentials,
  createEc2Client,
  createStsClient,
  type Ec2UnderTest,
  REGION,
} from "./ec2-under-test.ts";

/** The start state of the rows: eight instances in network one and one in the other. */
interface World {
  readonly endpoint: Ec2UnderTest;
  readonly ec2: EC2Client;
  readonly sts: STSClient;
  /** The six running ones, in the order of their launch. */
  readonly running: readonly string[];
  readonly stopped: string;
  readonly terminated: string;
  /** The one in the other network. */
  readonly elsewhere: string;
  /** The first running one, as described. */
  readonly first: Instance;
}

interface Row {
  readonly name: string;
  readonly needs?: Capability;
}

const UNKNOWN_ID = "i-0fffffffffffffff0";
const ODD_VALUE = `a&b <c> "d" 'e' ä ü 漢`;
const OTHER_ACCOUNT_ROLE = "arn:aws:iam::210987654321:role/controller";

/** Defines the suite of every emulator of EC2 and STS, through AWS's own client. */
export function testEc2Contract(
  name: string,
  start: () => Promise<Ec2UnderTest>,
  lacks: ReadonlySet<Capability>,
) {
  describe(`EC2 contract: ${name}`, () => {
    let world: World;

    beforeAll(async () => {
      world = await createWorld(await start());
    });
    afterAll(async () => {
      world.ec2.destroy();
      world.sts.destroy();
      await world.endpoint.close();
    });

    /** Defines one test for each row; a row that needs a capability that the endpoint lacks must fail. */
    function rows<T extends Row>(title: string, table: readonly T[], body: (row: T) => Promise<void>): void {
      describe(title, () => {
        for (const row of table) {
          const lacked = row.needs !== undefined && lacks.has(row.needs);
          if (lacked) test.fails(`${row.name} (${name} lacks: ${row.needs})`, () => body(row));
          else test(row.name, () => body(row));
        }
      });
    }

    rows("DescribeInstances finds", FINDS, async ({ input, found }) => {
      const { Reservations } = await world.ec2.send(new DescribeInstancesCommand(input(world)));
      const ids = (Reservations ?? [])
        .flatMap(({ Instances }) => Instances ?? [])
        .map((each) => each.InstanceId);
      expect(ids.toSorted()).toEqual([...found(world)].toSorted());
    });

    rows("DescribeInstances tells", FACTS, async ({ id, facts }) => {
      expect(await describeOne(world.ec2, id(world))).toMatchObject(facts(world));
    });

    rows(
      "DescribeInstances tells",
      [{ name: "one that is terminated has no network any more", needs: "no network after the end" }],
      async () => {
        const { VpcId, SubnetId, PrivateIpAddress, PrivateDnsName, NetworkInterfaces } = await describeOne(
          world.ec2,
          world.terminated,
        );
        expect({ VpcId, SubnetId, PrivateIpAddress, PrivateDnsName, NetworkInterfaces }).toEqual({
          PrivateDnsName: "",
          NetworkInterfaces: [],
        });
      },
    );

    rows("DescribeInstances refuses", REFUSALS, async ({ input, code }) => {
      await expect(world.ec2.send(new DescribeInstancesCommand(input(world)))).rejects.toMatchObject({
        name: code,
        $metadata: { httpStatusCode: 400 },
      });
    });

    rows("addresses and tags", [{ name: "as in the instance" }], async () => {
      const { first, endpoint } = world;
      const [networkInterface] = first.NetworkInterfaces ?? [];
      expect(first.PrivateDnsName).toBe(
        `ip-${first.PrivateIpAddress?.replaceAll(".", "-")}.${REGION}.compute.internal`,
      );
      expect(networkInterface).toMatchObject({
        Status: "in-use",
        VpcId: endpoint.vpcs.one,
        Attachment: { DeviceIndex: 0, Status: "attached" },
        PrivateIpAddresses: [{ Primary: true, PrivateIpAddress: first.PrivateIpAddress }],
      });
      expect(first.Tags).toEqual(
        expect.arrayContaining([
          { Key: "cluster", Value: "one" },
          { Key: "odd", Value: ODD_VALUE },
        ]),
      );
    });

    rows("DescribeInstances goes page by page", [{ name: "to the end, each instance once" }], async () => {
      const pages = await pagesOf(world.ec2, { MaxResults: 5, Filters: [filter("tag:cluster", "one")] });
      expect(pages.map(({ length }) => length)).toEqual([5, 3]);
      expect(pages.flat().toSorted()).toEqual([...world.running, world.stopped, world.terminated].toSorted());
    });

    rows("DescribeNetworkInterfaces finds", INTERFACES, async ({ input, found }) => {
      const { NetworkInterfaces } = await world.ec2.send(new DescribeNetworkInterfacesCommand(input(world)));
      const ids = (NetworkInterfaces ?? []).map(({ Attachment }) => Attachment?.InstanceId);
      expect(ids.toSorted()).toEqual([...found(world)].toSorted());
    });

    rows(
      "DescribeNetworkInterfaces goes page by page",
      [{ name: "to the end", needs: "pages of interfaces" }],
      async () => {
        const Filters = [filter("vpc-id", world.endpoint.vpcs.one)];
        const first = await world.ec2.send(new DescribeNetworkInterfacesCommand({ Filters, MaxResults: 5 }));
        const NextToken = first.NextToken ?? "";
        const second = await world.ec2.send(
          new DescribeNetworkInterfacesCommand({ Filters, MaxResults: 5, NextToken }),
        );
        expect([first.NetworkInterfaces?.length, second.NetworkInterfaces?.length]).toEqual([5, 2]);
        expect(second.NextToken).toBeUndefined();
      },
    );

    rows("DescribeAvailabilityZones", [{ name: "gives names, ids and region" }], async () => {
      const { AvailabilityZones } = await world.ec2.send(new DescribeAvailabilityZonesCommand({}));
      expect(AvailabilityZones?.map(({ ZoneName }) => ZoneName).toSorted()).toEqual(
        ["a", "b", "c"].map((letter) => `${REGION}${letter}`),
      );
      for (const zone of AvailabilityZones ?? []) {
        expect(zone).toMatchObject({ RegionName: REGION, ZoneId: expect.stringMatching(/^euc1-az\d$/) });
      }
    });

    rows(
      "DescribeInstanceTopology",
      [{ name: "gives the layers above each host", needs: "action DescribeInstanceTopology" }],
      async () => {
        const InstanceIds = [...world.running];
        const { Instances } = await world.ec2.send(new DescribeInstanceTopologyCommand({ InstanceIds }));
        expect(Instances?.map(({ InstanceId }) => InstanceId).toSorted()).toEqual(InstanceIds.toSorted());
        for (const each of Instances ?? []) {
          expect(each.NetworkNodes?.length).toBeGreaterThanOrEqual(3);
          expect(each.AvailabilityZone).toBe(world.first.Placement?.AvailabilityZone);
        }
      },
    );

    rows("the protocol refuses", PROTOCOL, async ({ body, headers, status, code }) => {
      if (code === "InvalidAction") expectViolations("ec2:DescribeWeather request  unknown");
      const response = await fetch(world.endpoint.url, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
        body,
      });
      // Read whole first: an exchange that ends after its test would be judged in the next one.
      const text = await response.text();
      expect(response.status).toBe(status);
      expect(text).toContain(`<Code>${code}</Code>`);
    });

    rows("AssumeRole", [{ name: "makes the caller a member of the role's account" }], async () => {
      const credentials = await assume(world.sts);
      const sts = createStsClient(world.endpoint.url, credentials);
      const identity = await sts.send(new GetCallerIdentityCommand({}));
      expect(identity).toMatchObject({
        Account: "210987654321",
        Arn: "arn:aws:sts::210987654321:assumed-role/controller/session-1",
      });
    });

    rows("AssumeRole", [{ name: "in another account shows nothing of this one" }], async () => {
      const ec2 = createEc2Client(world.endpoint.url, await assume(world.sts));
      const { Reservations } = await ec2.send(
        new DescribeInstancesCommand({ Filters: [filter("instance-id", ...world.running)] }),
      );
      expect(Reservations).toEqual([]);
    });
  });
}

interface Find extends Row {
  readonly input: (world: World) => DescribeInstancesCommandInput;
  readonly found: (world: World) => readonly string[];
}

const FINDS: readonly Find[] = [
  {
    name: "by ids",
    input: ({ running, elsewhere }) => ({ InstanceIds: [...running, elsewhere] }),
    found: ({ running, elsewhere }) => [...running, elsewhere],
  },
  {
    name: "by the filter instance-id, those that there are",
    input: ({ running }) => ({ Filters: [filter("instance-id", ...running, UNKNOWN_ID)] }),
    found: ({ running }) => running,
  },
  {
    name: "by the filter instance-id, in a page",
    input: ({ running }) => ({ Filters: [filter("instance-id", ...running)], MaxResults: 1000 }),
    found: ({ running }) => running,
  },
  {
    name: "nothing by an id that there is not",
    input: () => ({ Filters: [filter("instance-id", UNKNOWN_ID)] }),
    found: () => [],
  },
  {
    name: "by private-dns-name",
    input: ({ first }) => ({ Filters: [filter("private-dns-name", first.PrivateDnsName)] }),
    found: ({ first }) => [first.InstanceId ?? ""],
  },
  {
    name: "by private-ip-address",
    input: ({ first }) => ({ Filters: [filter("private-ip-address", first.PrivateIpAddress)] }),
    found: ({ first }) => [first.InstanceId ?? ""],
  },
  {
    name: "by an address of an interface",
    needs: "filter by an interface's address",
    input: ({ first }) => ({
      Filters: [filter("network-interface.addresses.private-ip-address", first.PrivateIpAddress)],
    }),
    found: ({ first }) => [first.InstanceId ?? ""],
  },
  {
    name: "by vpc-id",
    input: ({ endpoint }) => ({ Filters: [filter("vpc-id", endpoint.vpcs.other)] }),
    found: ({ elsewhere }) => [elsewhere],
  },
  {
    name: "by state",
    input: () => ({ Filters: [filter("tag-key", "cluster"), filter("instance-state-name", "stopped")] }),
    found: ({ stopped }) => [stopped],
  },
  {
    name: "one that is terminated",
    input: ({ terminated }) => ({ Filters: [filter("instance-id", terminated)] }),
    found: ({ terminated }) => [terminated],
  },
  {
    name: "by a tag's value",
    input: () => ({ Filters: [filter("tag:cluster", "other")] }),
    found: ({ elsewhere }) => [elsewhere],
  },
  {
    name: "by a tag's key",
    input: () => ({ Filters: [filter("tag-key", "only-elsewhere")] }),
    found: ({ elsewhere }) => [elsewhere],
  },
  {
    name: "by any of several values",
    input: () => ({
      Filters: [filter("tag:cluster", "one", "other"), filter("instance-state-name", "running")],
    }),
    found: ({ running, elsewhere }) => [...running, elsewhere],
  },
  {
    name: "by all of several filters",
    input: ({ endpoint }) => ({
      Filters: [filter("tag:cluster", "one", "other"), filter("vpc-id", endpoint.vpcs.other)],
    }),
    found: ({ elsewhere }) => [elsewhere],
  },
  {
    name: "by a star in a tag's value",
    input: () => ({ Filters: [filter("tag:cluster", "ot*r")] }),
    found: ({ elsewhere }) => [elsewhere],
  },
  {
    name: "by a question mark in a tag's value",
    input: () => ({ Filters: [filter("tag:cluster", "othe?")] }),
    found: ({ elsewhere }) => [elsewhere],
  },
  {
    name: "nothing by an escaped star",
    input: () => ({ Filters: [filter("tag:cluster", "ot\\*r")] }),
    found: () => [],
  },
  {
    name: "nothing by a value in other letters",
    input: () => ({ Filters: [filter("tag:cluster", "OTHER")] }),
    found: () => [],
  },
  {
    name: "by a star in a tag's key",
    input: () => ({ Filters: [filter("tag-key", "only-*")] }),
    found: ({ elsewhere }) => [elsewhere],
  },
  {
    name: "by a star in private-dns-name",
    needs: "wildcards in names and ids",
    input: ({ first }) => ({
      Filters: [filter("private-dns-name", `${first.PrivateDnsName?.split(".")[0]}.*`)],
    }),
    found: ({ first }) => [first.InstanceId ?? ""],
  },
  {
    name: "by a star in instance-id",
    needs: "wildcards in names and ids",
    input: ({ elsewhere }) => ({ Filters: [filter("instance-id", `i-*${elsewhere.slice(-8)}`)] }),
    found: ({ elsewhere }) => [elsewhere],
  },
];

interface Facts extends Row {
  readonly id: (world: World) => string;
  readonly facts: (world: World) => object;
}

const FACTS: readonly Facts[] = [
  {
    name: "type, network, zone and state of one that runs",
    id: ({ running }) => running[0] ?? "",
    facts: ({ endpoint }) => ({
      InstanceType: "p5.48xlarge",
      VpcId: endpoint.vpcs.one,
      SubnetId: expect.stringMatching(/^subnet-/),
      Placement: { AvailabilityZone: expect.stringMatching(/^eu-central-1[abc]$/) },
      State: { Code: 16, Name: "running" },
      LaunchTime: expect.any(Date),
    }),
  },
  {
    name: "one that is stopped keeps its private address",
    id: ({ stopped }) => stopped,
    facts: () => ({
      State: { Code: 80, Name: "stopped" },
      PrivateIpAddress: expect.stringMatching(/^10\./),
    }),
  },
  {
    name: "one that is stopped has no public address any more",
    needs: "no public address once stopped",
    id: ({ stopped }) => stopped,
    facts: () => ({ PublicDnsName: "" }),
  },
  {
    name: "one that is terminated keeps its tags",
    id: ({ terminated }) => terminated,
    facts: () => ({
      State: { Code: 48, Name: "terminated" },
      Tags: expect.arrayContaining([{ Key: "cluster", Value: "one" }]),
    }),
  },
];

interface Refusal extends Row {
  readonly input: (world: World) => DescribeInstancesCommandInput;
  readonly code: string;
}

const REFUSALS: readonly Refusal[] = [
  {
    name: "an id that there is not, among others",
    input: ({ running }) => ({ InstanceIds: [...running, UNKNOWN_ID] }),
    code: "InvalidInstanceID.NotFound",
  },
  {
    name: "an id of another form",
    needs: "code InvalidInstanceID.Malformed",
    input: () => ({ InstanceIds: ["i-anything"] }),
    code: "InvalidInstanceID.Malformed",
  },
  {
    name: "ids together with pages",
    input: ({ running }) => ({ InstanceIds: [...running], MaxResults: 10 }),
    code: "InvalidParameterCombination",
  },
  {
    name: "pages of four",
    needs: "limits of pages",
    input: () => ({ MaxResults: 4 }),
    code: "InvalidParameterValue",
  },
  {
    name: "pages of 1001",
    needs: "limits of pages",
    input: () => ({ MaxResults: 1001 }),
    code: "InvalidParameterValue",
  },
  {
    name: "a token that it did not give",
    needs: "code InvalidNextToken",
    input: () => ({ MaxResults: 5, NextToken: "made-up" }),
    code: "InvalidNextToken",
  },
  {
    name: "a filter that it does not know",
    needs: "filters that are not known",
    input: () => ({ Filters: [filter("colour", "red")] }),
    code: "InvalidParameterValue",
  },
  {
    name: "201 values",
    needs: "limits of filters",
    input: () => ({ Filters: [filter("instance-id", ...Array.from({ length: 201 }, () => UNKNOWN_ID))] }),
    code: "FilterLimitExceeded",
  },
  {
    name: "51 filters",
    needs: "limits of filters",
    input: () => ({ Filters: Array.from({ length: 51 }, () => filter("tag:cluster", "one")) }),
    code: "FilterLimitExceeded",
  },
];

interface InterfaceFind extends Row {
  readonly input: (world: World) => DescribeNetworkInterfacesCommandInput;
  readonly found: (world: World) => readonly string[];
}

const INTERFACES: readonly InterfaceFind[] = [
  {
    name: "what is attached in a network",
    needs: "filter attachment.status",
    input: ({ endpoint }) => ({
      Filters: [filter("attachment.status", "attached"), filter("vpc-id", endpoint.vpcs.one)],
    }),
    found: ({ running, stopped }) => [...running, stopped],
  },
  {
    name: "by private-ip-address",
    input: ({ first }) => ({ Filters: [filter("private-ip-address", first.PrivateIpAddress)] }),
    found: ({ first }) => [first.InstanceId ?? ""],
  },
  {
    name: "by addresses.private-ip-address",
    input: ({ first }) => ({ Filters: [filter("addresses.private-ip-address", first.PrivateIpAddress)] }),
    found: ({ first }) => [first.InstanceId ?? ""],
  },
];

interface ProtocolRow extends Row {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly code: string;
}

const AUTHORIZATION = `AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/${REGION}/ec2/aws4_request, SignedHeaders=host, Signature=0`;

const PROTOCOL: readonly ProtocolRow[] = [
  {
    name: "an unsigned call",
    needs: "authentication",
    body: "Action=DescribeInstances&Version=2016-11-15",
    headers: {},
    status: 403,
    code: "MissingAuthenticationToken",
  },
  {
    name: "an action that it does not know",
    needs: "an answer to actions that are not known",
    body: "Action=DescribeWeather&Version=2016-11-15",
    headers: { authorization: AUTHORIZATION },
    status: 400,
    code: "InvalidAction",
  },
];

async function createWorld(endpoint: Ec2UnderTest): Promise<World> {
  const tags = { cluster: "one", odd: ODD_VALUE };
  const ids = await endpoint.launch({ count: 8, network: "one", tags });
  const [stopped, terminated] = ids.slice(6);
  const elsewhereTags = { cluster: "other", "only-elsewhere": "" };
  const [elsewhere] = await endpoint.launch({ count: 1, network: "other", tags: elsewhereTags });
  if (stopped === undefined || terminated === undefined || elsewhere === undefined) {
    throw new Error(`${endpoint.url} launched fewer instances than it was asked for`);
  }
  await endpoint.stop(stopped);
  await endpoint.terminate(terminated);
  const ec2 = createEc2Client(endpoint.url);
  const running = ids.slice(0, 6);
  const first = await describeOne(ec2, running[0] ?? "");
  return {
    endpoint,
    ec2,
    sts: createStsClient(endpoint.url),
    running,
    stopped,
    terminated,
    elsewhere,
    first,
  };
}

async function describeOne(ec2: EC2Client, id: string): Promise<Instance> {
  const { Reservations } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }));
  const instance = Reservations?.[0]?.Instances?.[0];
  if (instance === undefined) throw new Error(`DescribeInstances did not tell of ${id}`);
  return instance;
}

/** Returns the ids on each page, for at most ten pages. */
async function pagesOf(ec2: EC2Client, input: DescribeInstancesCommandInput): Promise<string[][]> {
  const pages: string[][] = [];
  let next: { NextToken?: string } = {};
  do {
    const answer = await ec2.send(new DescribeInstancesCommand({ ...input, ...next }));
    pages.push(
      (answer.Reservations ?? []).flatMap(({ Instances }) =>
        (Instances ?? []).map((each) => each.InstanceId ?? ""),
      ),
    );
    next = answer.NextToken === undefined ? {} : { NextToken: answer.NextToken };
  } while (next.NextToken !== undefined && pages.length < 10);
  return pages;
}

async function assume(sts: STSClient): Promise<Credentials> {
  const { Credentials: given } = await sts.send(
    new AssumeRoleCommand({
      RoleArn: OTHER_ACCOUNT_ROLE,
      RoleSessionName: "session-1",
      ExternalId: "shared",
    }),
  );
  return {
    accessKeyId: given?.AccessKeyId ?? "",
    secretAccessKey: given?.SecretAccessKey ?? "",
    sessionToken: given?.SessionToken ?? "",
  };
}

function filter(
  Name: string,
  ...values: readonly (string | undefined)[]
): { Name: string; Values: string[] } {
  return { Name, Values: values.map((value) => value ?? "") };
}
