import { join } from "node:path";
import { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatUser } from "#core/identities.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { type FunctionPlatform, startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { makeFunctionProject } from "#test/build/function-project.ts";
import { type Stage, startStage } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

/** More than a batch. */
const NODES = 110;

describeWithPart("control-plane", "the packaged sweep, with its own identity, and no relay", (binaries) => {
  let stage: Stage;
  let platform: FunctionPlatform;
  let lambda: LambdaClient;

  beforeEach(async () => {
    stage = await startStage(binaries);
    const project = join(stage.folder, "project");
    await makeFunctionProject(project);
    const file = join(stage.folder, "clusters.yaml");
    const cloud = { provider: "aws", region: stage.ec2.region, vpc: DEFAULT_VPC_ID } as const;
    await writeClustersFile(file, buildClusterEntry(stage.plane, { name: "tenant-a", cloud }));
    const port = await findFreePort();
    const endpoint = `http://127.0.0.1:${port}`;
    platform = await startFunctionPlatform({
      ...{ project, port, folder: join(stage.folder, "platform") },
      environment: { ...stage.environment, CLUSTERS_FILE: file, AWS_ENDPOINT_URL_LAMBDA: endpoint },
    });
    const credentials = { accessKeyId: "test", secretAccessKey: "test" };
    lambda = new LambdaClient({ endpoint, region: stage.ec2.region, credentials, maxAttempts: 1 });
  });
  afterEach(async () => {
    lambda?.destroy();
    await platform?.close();
    await stage?.close();
  });

  test("brings every node up, reads and lists, and writes nothing by itself", async () => {
    const instances = await stage.join(NODES);
    expect(await sweep({})).toMatchObject({ result: { shards: 0, clusters: 1, unfinished: 0 } });
    await stage.untilUp(instances);
    expect(await stage.flaws()).toEqual([]);
    const records = await stage.plane.record();
    const own = records.filter(({ user }) => user === formatUser("sweep"));
    const kinds = new Set(own.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`));
    expect([...kinds].sort()).toEqual(["get leases 200", "list nodes 200"]);
    expect(await sweep({ source: "aws.s3" })).toMatchObject({ error: expect.any(String) });
  });

  async function sweep(
    payload: unknown,
  ): Promise<{ readonly result: unknown; readonly error: string | undefined }> {
    const command = new InvokeCommand({
      FunctionName: "serverless-ccm-dev-sweep",
      InvocationType: "RequestResponse",
      Payload: Buffer.from(JSON.stringify(payload)),
    });
    const { Payload, FunctionError: error } = await lambda.send(command);
    return { result: JSON.parse(Buffer.from(Payload ?? []).toString("utf8") || "null"), error };
  }
});
