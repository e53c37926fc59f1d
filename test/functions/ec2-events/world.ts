import { vi } from "vitest";
import { createLocator, parseInstanceId } from "#clouds/aws/locate-instance.ts";
import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { buildClusterEntry } from "#emulators/harness/clusters-file.ts";
import { createEc2EventsFunction } from "#functions/parts/ec2-events/ec2-events-function.ts";
import type { Ec2EventResult } from "#functions/parts/ec2-events/request-resync.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import type { FunctionContext } from "#functions/parts/platform-function.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { FailedInvocation } from "#platforms/invoker.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";
import { buildReport } from "#test/relay/report-builders.ts";

export const ACCOUNT = "123456789012";
export const OTHER_ACCOUNT = "210987654321";
export const VPC = "vpc-0123456789abcdef0";

/** An event of EventBridge, as far as it is read. */
export function buildStateChange(detail: object = {}, more: object = {}): Record<string, unknown> {
  return {
    source: "aws.ec2",
    "detail-type": "EC2 Instance State-change Notification",
    account: ACCOUNT,
    region: "eu-central-1",
    detail: { "instance-id": "i-0123456789abcdef0", state: "shutting-down", ...detail },
    ...more,
  };
}

/** How a cluster of the world is configured. */
export interface ClusterSpec {
  readonly name: string;
  readonly cloud?: Record<string, unknown>;
  readonly controllers?: readonly string[];
  readonly writes?: Cluster["writes"];
}

/** An embedded EC2, an API server for each cluster, and the function between them; what it would invoke is recorded. */
export interface Ec2EventsUnderTest {
  readonly ec2: Ec2Server;
  readonly invoked: Event[];
  readonly logged: LogLine[];
  api(cluster: string): ClusterUnderTest;
  /** Requests that changed anything, from any function. */
  writes(): number;
  /** What invocations come to from now on. */
  answer(failure: FailedInvocation | undefined): void;
  /** Makes the cluster's API server unreachable. */
  unreachable(cluster: string): void;
  send(event: unknown, context?: Partial<FunctionContext>): Promise<Ec2EventResult>;
  close(): Promise<void>;
}

export async function startEc2Events(specs: readonly ClusterSpec[]): Promise<Ec2EventsUnderTest> {
  const ec2 = await startEc2({ account: ACCOUNT });
  for (const variable of ["AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL_STS"]) vi.stubEnv(variable, ec2.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  const started = await Promise.all(
    specs.map(async ({ name, cloud, controllers, writes = "function" }) => {
      const api = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
      const aws = { provider: "aws", region: "eu-central-1", vpc: VPC, ...cloud } as const;
      const entry = buildClusterEntry(api.plane, { name, cloud: aws as never });
      const all = controllers ?? [nodeLifecycleWatch.name];
      const signIn = writes === "relay" ? { relay: entry.signIn?.relay } : entry.signIn;
      return { api, cluster: Cluster.parse({ ...entry, controllers: all, writes, signIn }) };
    }),
  );
  const of = (name: string) => {
    const found = started.find(({ cluster }) => cluster.name === name);
    if (found === undefined) throw new Error(`there is no cluster ${name}`);
    return found;
  };
  const invoked: Event[] = [];
  const logged: LogLine[] = [];
  const away = new Set<string>();
  let failure: FailedInvocation | undefined;
  let writes = 0;
  const counted = (transport: Transport): Transport => ({
    ...transport,
    send(request) {
      if (request.method !== "GET") writes += 1;
      return transport.send(request);
    },
  });
  const invoke = createEc2EventsFunction({
    clusters: async () => started.map(({ cluster }) => cluster),
    async api({ name }) {
      if (away.has(name)) throw new Error("the token file is not there");
      return counted(await of(name).api.transport("ec2-events"));
    },
    aws: async () => ({ ...createLocator(), instanceIdOf: parseInstanceId }),
    invoker: {
      async invoke(event) {
        invoked.push(event);
        return failure ?? { kind: "report", report: buildReport(event) };
      },
    },
    nextEventId: ({ name }) => `${name}.test.${invoked.length + 1}`,
    log: (line) => logged.push(line),
  });
  return {
    ec2,
    invoked,
    logged,
    api: (name) => of(name).api,
    writes: () => writes,
    answer(next) {
      failure = next;
    },
    unreachable: (name) => void away.add(name),
    send: (event, context = {}) =>
      invoke(event, {
        awsRequestId: "request-1",
        getRemainingTimeInMillis: () => 20_000,
        invokedFunctionArn: `arn:aws:lambda:eu-central-1:${ACCOUNT}:function:serverless-ccm-prod-ec2-events`,
        ...context,
      }),
    async close() {
      await Promise.all([ec2.close(), ...started.map(({ api }) => api.close())]);
      vi.unstubAllEnvs();
    },
  };
}
