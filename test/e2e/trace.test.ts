import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { buildIdentityFlags } from "#emulators/harness/identity-flags.ts";
import { WRITES_RELAY } from "#emulators/harness/kube-apiserver.ts";
import { makeFunctionProject } from "#test/build/function-project.ts";
import { type Stage, startStage, waitUntil } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import {
  buildTree,
  type OtlpReceiver,
  type Received,
  startOtlpReceiver,
} from "#test/tracing/otlp-receiver.ts";

const TIMEOUT_MS = 20_000;

describeWithPart("control-plane", "a node's way, traced", (binaries) => {
  let stage: Stage;
  let receiver: OtlpReceiver;
  const ending: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    [stage, receiver] = await Promise.all([startStage(binaries), startOtlpReceiver()]);
  });
  afterEach(async () => {
    for (const end of ending.splice(0)) await end();
    await stage?.close();
    await receiver?.close();
  });

  /** Returns the delivery that brought a node up, once all of its trace has arrived. */
  async function broughtUp(): Promise<Received> {
    const found = (): Received | undefined =>
      receiver.spans.find(
        (span) =>
          span.name === "function" &&
          span.attributes["serverless_ccm.changed"] === 1 &&
          receiver.spans.some(({ spanId }) => spanId === span.parentSpanId),
      );
    const isWhole = async (): Promise<boolean> => found() !== undefined || receiver.faults.length > 0;
    await waitUntil("the trace of a node", isWhole, TIMEOUT_MS);
    expect(receiver.faults).toEqual([]);
    const root = receiver.spans.find(({ spanId }) => spanId === found()?.parentSpanId);
    if (root === undefined) throw new Error("the function's span has no parent");
    return root;
  }

  const WHOLE = {
    deliver: [{ function: ["DescribeInstances", "PATCH nodes", "PATCH nodes/status", "POST events"] }],
  };

  test("in one process is one trace", async () => {
    const program = stage.program(
      [
        ...["run", "--cloud-provider", "aws", "--cloud-config", join(stage.folder, "cloud.yaml")],
        ...["--controllers", "cloud-node-controller", "--port", "0"],
        ...(await buildIdentityFlags(stage.plane)),
      ],
      { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
    );
    await program.line("Listed");
    const instances = await stage.join(1);
    await stage.untilUp(instances);
    const root = await broughtUp();
    expect(withoutZones(buildTree(receiver.spans, root))).toEqual(WHOLE);
    expect(root.service).toBe("serverless-ccm");
    expect(await program.end("SIGTERM")).toBe(0);
    expect(receiver.faults).toEqual([]);
  });

  test("is one trace across the relay and a packaged function", async () => {
    const project = join(stage.folder, "project");
    await makeFunctionProject(project);
    const file = join(stage.folder, "clusters.yaml");
    const cloud = { provider: "aws", region: stage.ec2.region, vpc: DEFAULT_VPC_ID } as const;
    const controllers = ["cloud-node-controller"];
    await writeClustersFile(file, buildClusterEntry(stage.plane, { name: "tenant-a", cloud, controllers }));
    const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
    const platform = await startFunctionPlatform({
      project,
      folder: join(stage.folder, "platform"),
      environment: { ...stage.environment, CLUSTERS_FILE: file, ...traced },
    });
    ending.push(() => platform.close());
    const relay = stage.program(
      ["relay", "--clusters-file", file, "--function-prefix", "serverless-ccm-dev-", "--port", "0"],
      { AWS_ENDPOINT_URL_LAMBDA: platform.url, ...traced },
    );
    await relay.line("Listed");
    const instances = await stage.join(1);
    await stage.untilUp(instances);
    const root = await broughtUp();
    expect(withoutZones(buildTree(receiver.spans, root))).toEqual(WHOLE);
    const services = new Set(
      receiver.spans.filter(({ traceId }) => traceId === root.traceId).map((span) => span.service),
    );
    expect(services).toEqual(new Set(["serverless-ccm-relay", "serverless-ccm-dev-node"]));
    expect(await relay.end("SIGTERM")).toBe(0);
    expect(receiver.faults).toEqual([]);
  });

  test("is one trace with the relay's writes, if functions reach no API server", async () => {
    await stage.plane.apply(WRITES_RELAY);
    const file = join(stage.folder, "clusters.yaml");
    await writeClustersFile(file, {
      name: "tenant-a",
      server: stage.plane.server,
      certificateAuthorityFile: stage.plane.certificateAuthorityFile,
      signIn: { relay: { kind: "token-file", file: stage.plane.tokenFile("relay") } },
      cloud: { provider: "aws", region: stage.ec2.region, vpc: DEFAULT_VPC_ID },
      controllers: ["cloud-node-controller"],
      writes: "relay",
    });
    const program = stage.program(["run", "--clusters-file", file, "--port", "0"], {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    });
    await program.line("Listed");
    const instances = await stage.join(1);
    await stage.untilUp(instances);
    const written = (): Received | undefined =>
      receiver.spans.find(
        (span) =>
          span.name === "write" &&
          receiver.spans.some((each) => each.parentSpanId === span.spanId && each.name === "PATCH nodes"),
      );
    await waitUntil("the trace of a node", async () => written() !== undefined, TIMEOUT_MS);
    const root = written();
    expect(root && withoutZones(buildTree(receiver.spans, root))).toEqual({
      write: [
        "PATCH nodes",
        "PATCH nodes/status",
        "POST events",
        { deliver: [{ function: ["DescribeInstances"] }] },
      ],
    });
    expect(await program.end("SIGTERM")).toBe(0);
    expect(receiver.faults).toEqual([]);
  });
});

/** Removes the one additional call of a cold function. */
function withoutZones(tree: unknown): unknown {
  return JSON.parse(JSON.stringify(tree), (_, value) =>
    Array.isArray(value)
      ? value.filter((each) => each !== "DescribeAvailabilityZones" && each !== "DescribeInstanceTopology")
      : value,
  );
}
