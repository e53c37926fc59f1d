import type {
  Instance as Ec2Instance,
  Filter,
  InstanceTopology,
  NetworkInterface,
} from "@aws-sdk/client-ec2";
import { type AwsCloudOptions, createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { checkCall } from "#test/aws-models/aws-calls.ts";

/** EC2 in memory, with EC2's states, filters, pages and limits. Only waiting moves its clock. */
export class Ec2World implements Ec2 {
  readonly instances: Ec2Instance[] = [];
  readonly interfaces: NetworkInterface[] = [];
  readonly zones = new Map([["eu-central-1a", "euc1-az2"]]);
  readonly topology = new Map<string, InstanceTopology>();
  readonly requests: { readonly operation: Operation; readonly at: number }[] = [];
  /** Errors with which the next requests of an operation fail. */
  readonly errors = new Map<Operation, Error>();
  /** Requests of DescribeInstances after the first `after` ones fail with this error. */
  later: { readonly after: number; readonly error: Error } | undefined;
  /** What the requests of an operation wait for before their answer. */
  readonly held = new Map<Operation, Promise<void>>();
  /** Instances that DescribeInstanceTopology does not know yet. */
  readonly unknownToTopology = new Set<string>();
  /** Whether the topology error names the unknown instances. */
  namesUnknown = true;
  /** Replaces the answer of DescribeAvailabilityZones. */
  noZones: object | undefined;
  /** Replaces the answer of DescribeInstances. */
  rubbish: object | undefined;
  pageSize = 1000;
  /**
   * The size of a scan page. If set, a filter with a wildcard scans all instances, so many a page, and
   * returns the matches of the page.
   */
  scanSize: number | undefined;
  /** The values of the name filter, by request. */
  readonly namesAsked: (readonly string[])[] = [];
  /** The values of the filter of launch times, of the requests that have it. */
  readonly launchesAsked: (readonly string[])[] = [];
  nowMs = 0;
  waitedMs = 0;

  count(operation: Operation): number {
    return this.requests.filter((request) => request.operation === operation).length;
  }

  describeInstances: Ec2["describeInstances"] = async (request) => {
    await this.#arrive("DescribeInstances", request);
    if (this.rubbish !== undefined) return this.rubbish;
    const names = request.Filters?.find(({ Name: name }) => name === "private-dns-name")?.Values ?? [];
    this.namesAsked.push(names);
    const launches = request.Filters?.find(({ Name: name }) => name === "launch-time")?.Values;
    if (launches !== undefined) this.launchesAsked.push(launches);
    const isScan = this.scanSize !== undefined && names.some((name) => name.includes("*"));
    const fits = (instance: Ec2Instance) => passes(instanceValues(instance), request.Filters);
    const all = isScan ? this.instances : this.instances.filter(fits);
    const size = isScan ? (this.scanSize ?? 0) : this.pageSize;
    const start = Number(request.NextToken ?? 0);
    const page = all.slice(start, start + size).filter(fits);
    const next = start + size < all.length ? { NextToken: String(start + size) } : {};
    const reservations = page.map((instance) => ({ OwnerId: ACCOUNT, Instances: [instance] }));
    return checkAnswer("DescribeInstances", { Reservations: reservations, ...next });
  };

  describeNetworkInterfaces: Ec2["describeNetworkInterfaces"] = async (request) => {
    await this.#arrive("DescribeNetworkInterfaces", request);
    return checkAnswer("DescribeNetworkInterfaces", {
      NetworkInterfaces: this.interfaces.filter((eni) => passes(interfaceValues(eni), request.Filters)),
    });
  };

  describeAvailabilityZones: Ec2["describeAvailabilityZones"] = async (request) => {
    await this.#arrive("DescribeAvailabilityZones", request);
    if (this.noZones !== undefined) return this.noZones;
    const zones = [...this.zones].map(([ZoneName, ZoneId]) => ({ ZoneName, ZoneId }));
    return checkAnswer("DescribeAvailabilityZones", { AvailabilityZones: zones });
  };

  describeInstanceTopology: Ec2["describeInstanceTopology"] = async (request) => {
    await this.#arrive("DescribeInstanceTopology", request);
    const { InstanceIds: ids = [] } = request;
    if (ids.length > 100) throw createAwsError("InvalidParameterValue", 400);
    const unknown = ids.filter((id) => this.unknownToTopology.has(id));
    if (unknown.length > 0) {
      const message = this.namesUnknown ? `The instance IDs '${unknown.join(", ")}' do not exist` : "no";
      throw createAwsError("InvalidInstanceID.NotFound", 400, message);
    }
    const found = ids.flatMap((id) => this.topology.get(id) ?? []);
    return checkAnswer("DescribeInstanceTopology", { Instances: found });
  };

  close(): void {}

  /** Returns a cloud on this world; waiting moves the clock at once. */
  cloud(config: Partial<AwsCloudConfig> = {}, options: AwsCloudOptions = {}): Cloud {
    return createAwsCloud(buildConfig(config), {
      clusterName: "demo",
      ec2: this,
      now: () => this.nowMs,
      wallClock: () => Date.parse("2026-01-01T00:01:00Z") + this.nowMs,
      sleep: async (delayMs) => {
        this.nowMs += delayMs;
        this.waitedMs += delayMs;
      },
      ...options,
    });
  }

  async #arrive(operation: Operation, request: object): Promise<void> {
    checkCall(`ec2:${operation}`, "request", request);
    this.requests.push({ operation, at: this.nowMs });
    await this.held.get(operation);
    const isLate =
      operation === "DescribeInstances" && this.count(operation) > (this.later?.after ?? Infinity);
    const error = isLate ? this.later?.error : this.errors.get(operation);
    if (error !== undefined) throw error;
  }
}

export const ACCOUNT = "123456789012";
export const VPC = "vpc-0123456789abcdef0";

/** Builds the settings of the cluster `demo` in its VPC. */
export function buildConfig(config: Partial<AwsCloudConfig> = {}): AwsCloudConfig {
  return AwsCloudConfig.parse({
    provider: "aws",
    region: "eu-central-1",
    vpc: VPC,
    clusterTag: "demo",
    ...config,
  });
}

/** Builds a running instance of the cluster; the number determines its ID, address and name. */
export function buildInstance(number: number, traits: Partial<Ec2Instance> = {}): Ec2Instance {
  const address = `10.0.${Math.floor(number / 256)}.${number % 256}`;
  const name = `ip-${address.replaceAll(".", "-")}.eu-central-1.compute.internal`;
  return {
    InstanceId: `i-${number.toString(16).padStart(17, "0")}`,
    InstanceType: "m7g.large",
    State: { Name: "running" },
    VpcId: VPC,
    Placement: { AvailabilityZone: "eu-central-1a" },
    PrivateDnsName: name,
    PrivateIpAddress: address,
    NetworkInterfaces: [
      {
        Status: "in-use",
        Attachment: { DeviceIndex: 0 },
        PrivateIpAddresses: [{ PrivateIpAddress: address }],
      },
    ],
    Tags: [{ Key: "kubernetes.io/cluster/demo", Value: "owned" }],
    ...traits,
  };
}

/** Builds an error as the SDK throws it. */
export function createAwsError(name: string, status: number, message = "by the test"): Error {
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode: status } });
}

function checkAnswer<Answer extends object>(operation: Operation, answer: Answer): Answer {
  checkCall(`ec2:${operation}`, "answer", answer);
  return answer;
}

function instanceValues(instance: Ec2Instance): Readonly<Record<string, readonly (string | undefined)[]>> {
  const ipv6 = (instance.NetworkInterfaces ?? []).flatMap((eni) => eni.Ipv6Addresses ?? []);
  return {
    "instance-id": [instance.InstanceId],
    "private-dns-name": [instance.PrivateDnsName],
    "launch-time": [instance.LaunchTime?.toISOString()],
    "private-ip-address": [instance.PrivateIpAddress],
    "vpc-id": [instance.VpcId],
    "tag-key": (instance.Tags ?? []).map(({ Key: key }) => key),
    "instance-state-name": [instance.State?.Name],
    "network-interface.network-interface-id": (instance.NetworkInterfaces ?? []).map(
      ({ NetworkInterfaceId: id }) => id,
    ),
    "network-interface.ipv6-addresses.ipv6-address": ipv6.map((each) => each.Ipv6Address),
  };
}

function interfaceValues(eni: NetworkInterface): Readonly<Record<string, readonly (string | undefined)[]>> {
  return { "private-ip-address": [eni.PrivateIpAddress], "vpc-id": [eni.VpcId] };
}

function passes(
  values: Readonly<Record<string, readonly (string | undefined)[]>>,
  filters: readonly Filter[] = [],
): boolean {
  return filters.every(({ Name: name = "", Values: patterns = [] }) => {
    if (patterns.length > 200) throw createAwsError("FilterLimitExceeded", 400);
    const actual = values[name];
    if (actual === undefined) throw createAwsError("InvalidParameterValue", 400);
    return patterns.some((pattern) => actual.some((value) => value !== undefined && matches(value, pattern)));
  });
}

function matches(value: string, pattern: string): boolean {
  if (!pattern.includes("*")) return value === pattern;
  const [head = "", tail = ""] = pattern.split("*");
  return value.startsWith(head) && value.endsWith(tail);
}
