import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Operation } from "#clouds/aws/quotas.ts";
import { createDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { createTokenFile } from "#clouds/http/authorizer.ts";
import type { FakeAnswer } from "#emulators/digitalocean/answer.ts";
import { TOKEN } from "#emulators/digitalocean/names.ts";
import { DENIED, THROTTLED, UNSUPPORTED } from "#platforms/aws/error-codes.ts";
import { ACCOUNT, buildInstance, createAwsError, Ec2World, VPC } from "#test/clouds/aws/ec2-world.ts";
import { buildConfig, createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";
import { expectNothingLeft, expectSecretsKept } from "#test/functions/expect-secrets-kept.ts";
import {
  MARK,
  type MarkedWorld,
  type Read,
  SECRET,
  startMarkedWorld,
  toDependencies,
} from "#test/functions/marked-world.ts";

// Every answer of a cloud goes through the functions with marks in all that is not the tenant's; then all that the
// cluster was sent is searched for them. The operator must have got them.

let world: MarkedWorld;
let folder: string;
beforeAll(async () => {
  world = await startMarkedWorld();
  folder = await mkdtemp(join(tmpdir(), `${MARK}-`));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

let numbers = 0;

describe("of AWS", () => {
  const THEIRS = {
    VpcId: `vpc-${MARK}`,
    SubnetId: `subnet-${MARK}`,
    Tags: [
      { Key: `kubernetes.io/cluster/${MARK}`, Value: "owned" },
      { Key: "Name", Value: MARK },
    ],
  };
  const MESSAGE = `User: arn:aws:sts::${MARK}:assumed-role/${MARK}/ccm may not do this to vpc-${MARK}`;

  /** Four nodes of one number: by id, by name, on Fargate, and one that says it is initialized. */
  async function nodesOf(number: number) {
    const instance = buildInstance(number);
    const providerID = `aws:///eu-central-1a/${instance.InstanceId}`;
    const fargate = `fargate-ip-${instance.PrivateIpAddress?.replaceAll(".", "-")}.eu-central-1.compute.internal`;
    return Promise.all([
      world.join({ name: `node-${number}`, providerID }),
      world.join({ name: instance.PrivateDnsName ?? "" }),
      world.join({ name: `fargate-${number}`, providerID: `aws:///eu-central-1a/${fargate}` }),
      world.join({ name: `joined-${number}`, providerID, joined: true }),
    ]);
  }

  async function run(prepare: (ec2: Ec2World, number: number) => void, config: object = {}): Promise<Read> {
    numbers += 1;
    const ec2 = new Ec2World();
    prepare(ec2, numbers);
    const describe = ec2.describeInstances;
    ec2.describeInstances = async (request, signal) => {
      const { Reservations: reservations, ...rest } = await describe(request, signal);
      const owned = reservations?.map((each) => ({
        ...each,
        OwnerId: each.Instances?.[0]?.VpcId === THEIRS.VpcId ? MARK : ACCOUNT,
      }));
      return owned === undefined ? rest : { ...rest, Reservations: owned };
    };
    const cloud = ec2.cloud({ nodeIPFamilies: ["ipv4"], ...config }, { wallClock: Date.now });
    return world.run(await nodesOf(numbers), toDependencies(cloud));
  }

  test("an instance of the cluster: only the annotation has its account and network", async () => {
    const read = await run((ec2, number) => {
      ec2.instances.push(buildInstance(number), buildInstance(number + 5_000, THEIRS));
    });
    expectSecretsKept(read, false);
    const annotation = "/metadata/annotations/serverless-ccm.io~1instance";
    const operations = read.sent.flatMap(({ body }) =>
      Array.isArray(body) ? (body as { path: string }[]) : [],
    );
    expect(operations.filter(({ path }) => path === annotation)).not.toEqual([]);
    const others = JSON.stringify([
      operations.filter(({ path }) => path !== annotation),
      read.sent.filter(({ body }) => !Array.isArray(body)),
    ]);
    expect(others).not.toContain(ACCOUNT);
    expect(others).not.toContain(VPC);
  });

  test.each<[string, (ec2: Ec2World, number: number) => void, object]>([
    [
      "someone else's",
      (ec2, number) => ec2.instances.push(buildInstance(number, THEIRS)),
      { vpc: undefined },
    ],
    [
      "two of one name",
      (ec2, number) => {
        const second = {
          InstanceId: `i-${MARK}-${number}`,
          PrivateDnsName: buildInstance(number).PrivateDnsName,
        };
        ec2.instances.push(buildInstance(number), { ...buildInstance(number + 5_000), ...second } as never);
      },
      {},
    ],
    [
      "a network interface of someone else",
      (ec2, number) => {
        const { PrivateIpAddress } = buildInstance(number);
        const Attachment = { Status: "attached" } as const;
        ec2.interfaces.push({
          NetworkInterfaceId: `eni-${MARK}`,
          PrivateIpAddress: PrivateIpAddress ?? "",
          Attachment,
          VpcId: VPC,
          TagSet: THEIRS.Tags,
        });
      },
      {},
    ],
    [
      "without an address, its zone unreadable",
      (ec2, number) => {
        ec2.instances.push(
          buildInstance(number, { Placement: {}, InstanceId: buildInstance(number).InstanceId ?? "" }),
          buildInstance(number + 5_000, THEIRS),
        );
        ec2.errors.set("DescribeNetworkInterfaces", createAwsError("InternalError", 500, MESSAGE));
      },
      {},
    ],
    [
      "terminated, someone else's",
      (ec2, number) =>
        ec2.instances.push(buildInstance(number, { ...THEIRS, State: { Name: "terminated" } })),
      {},
    ],
    [
      "one that has no place yet",
      (ec2, number) => {
        ec2.instances.push(buildInstance(number, { InstanceType: "p5.48xlarge" }));
        ec2.errors.set("DescribeInstanceTopology", createAwsError("InternalError", 500, MESSAGE));
        ec2.errors.set("DescribeAvailabilityZones", createAwsError("InternalError", 500, MESSAGE));
      },
      {},
    ],
  ])("an instance: %s", async (_, prepare, config) => {
    expectSecretsKept(await run(prepare, config));
  });

  test.each(["pending", "stopped", "stopping", "shutting-down", "terminated"] as const)(
    "an instance that is %s, next to others",
    async (state) => {
      const prepare = (ec2: Ec2World, number: number) => {
        ec2.instances.push(
          buildInstance(number, { State: { Name: state } }),
          buildInstance(number + 5_000, THEIRS),
        );
      };
      expectSecretsKept(await run(prepare), false);
    },
  );

  test("no instance", async () => {
    expectSecretsKept(await run((ec2) => ec2.instances.push(buildInstance(9_000, THEIRS))), false);
  });

  const OPERATIONS = ["DescribeInstances", "DescribeNetworkInterfaces"] as const satisfies Operation[];
  const errors: [string, unknown][] = [
    ...[...THROTTLED, ...DENIED, ...UNSUPPORTED, "UnauthorizedOperation", "InvalidInstanceID.NotFound"].map(
      (name): [string, unknown] => [name, createAwsError(name, 400, MESSAGE)],
    ),
    ...[400, 401, 403, 404, 429, 500, 503].map((status): [string, unknown] => [
      `an unknown error of ${status}`,
      createAwsError(`${MARK}Exception`, status, MESSAGE),
    ]),
    [
      "a connection that broke",
      Object.assign(new Error(`connect ECONNREFUSED ${MARK}`), { code: "ECONNREFUSED" }),
    ],
    ["a fault of the SDK", new TypeError(`cannot read ${MARK}`)],
    ["something that is no error", `a string with ${MARK}`],
  ];
  test.each(errors)("an error: %s", async (_, error) => {
    const prepare = (ec2: Ec2World, number: number) => {
      ec2.instances.push(buildInstance(number));
      for (const operation of OPERATIONS) ec2.errors.set(operation, error as Error);
    };
    expectSecretsKept(await run(prepare));
  });

  test("an invalid answer", async () => {
    expectSecretsKept(await run((ec2) => Object.assign(ec2, { rubbish: { [MARK]: MARK } })), false);
  });
});

describe("of DigitalOcean", () => {
  async function run(
    prepare: (made: DigitalOceanWorld, id: string, name: string) => void,
    config: Record<string, unknown> = {},
    makeCloud = (made: DigitalOceanWorld) => made.cloud(config),
  ): Promise<Read> {
    numbers += 1;
    const [id, name] = [String(4_000_000 + numbers), `droplet-${numbers}`];
    const made = await createNodeWorld();
    try {
      prepare(made, id, name);
      const nodes = await Promise.all([
        world.join({ name: `node-${numbers}`, providerID: `digitalocean://${id}` }),
        world.join({ name }),
        world.join({ name: `joined-${numbers}`, providerID: `digitalocean://${id}`, joined: true }),
      ]);
      return await world.run(nodes, toDependencies(makeCloud(made)));
    } finally {
      await made.close();
    }
  }

  const THEIRS = { tags: [MARK], vpc_uuid: MARK };

  test.each<[string, (made: DigitalOceanWorld, id: string, name: string) => void, boolean]>([
    [
      "the cluster's, beside others",
      ({ fake }, id, name) => {
        fake.add({ id, name });
        fake.add({ ...THEIRS, name: MARK });
      },
      false,
    ],
    ["someone else's", ({ fake }, id, name) => void fake.add({ id, name, ...THEIRS }), true],
    ["in another region", ({ fake }, id, name) => void fake.add({ id, name, region: MARK }), true],
    [
      "two of one name",
      ({ fake }, _, name) => {
        fake.add({ name });
        fake.add({ name });
      },
      false,
    ],
    [
      "with an invalid address",
      ({ fake }, id, name) => {
        const address = { ip_address: MARK, netmask: "", gateway: "", type: "private" };
        fake.add({ id, name, networks: { v4: [address], v6: [] } });
      },
      true,
    ],
    ["none", ({ fake }) => void fake.add({ ...THEIRS, name: MARK }), false],
  ])("a droplet: %s", async (_, prepare, says) => {
    expectSecretsKept(await run(prepare, { dropletTag: undefined }), says);
  });

  const WORDS = { id: `${MARK}_id`, message: `team ${MARK}, with Bearer ${TOKEN}`, request_id: MARK };
  const rubbish = { status: 200, body: `<html>${MARK}</html>`, headers: { "content-type": `text/${MARK}` } };
  const answers: [string, FakeAnswer, boolean][] = [
    ...[400, 401, 403, 422, 429, 302, 404, 408, 409, 500, 502, 503].map(
      (status): [string, FakeAnswer, boolean] => [
        String(status),
        { status, body: JSON.stringify(WORDS) },
        true,
      ],
    ),
    ["200 and rubbish", rubbish, true],
    ["404 of a proxy", { ...rubbish, status: 404 }, true],
    ["a broken connection", "destroy", false],
  ];
  test.each(answers)("an answer: %s", async (_, answer, says) => {
    const prepare = ({ fake }: DigitalOceanWorld, id: string, name: string) => {
      fake.add({ id, name });
      fake.fault = () => answer;
    };
    expectSecretsKept(await run(prepare), says);
  });

  test.each([
    ["is gone", undefined],
    ["holds more than a token", `${SECRET} ${SECRET}`],
    ["holds a token that is refused", SECRET],
  ])("a token file that %s", async (_, content) => {
    const file = join(folder, "token");
    await rm(file, { force: true });
    if (content !== undefined) await writeFile(file, content);
    const cloud = ({ fake }: DigitalOceanWorld) =>
      createDigitalOceanCloud(buildConfig({ apiURL: fake.url }), createTokenFile(file));
    expectSecretsKept(await run(() => undefined, {}, cloud), content !== SECRET);
  });
});

test("afterwards, the cluster contains none of it, and the Events exist", async () => {
  await expectNothingLeft(world);
  expect(await world.everything()).toContain("CloudInitializationFailed");
});
