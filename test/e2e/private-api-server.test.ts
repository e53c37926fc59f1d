import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { type FunctionPlatform, startFunctionPlatform } from "#emulators/harness/function-platform.ts";
import { WRITES_RELAY } from "#emulators/harness/kube-apiserver.ts";
import { makeFunctionProject } from "#test/build/function-project.ts";
import type { Running } from "#test/cli/program.ts";
import { type Stage, startStage } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const NODES = 300;

describeWithPart(
  "control-plane",
  "packaged functions without any sign-in, and a relay that writes",
  (binaries) => {
    let stage: Stage;
    let platform: FunctionPlatform;
    let clustersFile = "";

    beforeEach(async () => {
      stage = await startStage(binaries);
      await stage.plane.apply(WRITES_RELAY);
      const project = join(stage.folder, "project");
      await makeFunctionProject(project);
      clustersFile = join(stage.folder, "clusters.yaml");
      const functionsFile = join(stage.folder, "functions-clusters.yaml");
      const { server, certificateAuthorityFile } = stage.plane;
      const cloud = { provider: "aws", region: stage.ec2.region, vpc: DEFAULT_VPC_ID };
      // The functions have neither a credential nor the authority's certificate for the API server.
      const entry = { name: "tenant-a", server, cloud, writes: "relay" };
      const signIn = { relay: { kind: "token-file", file: stage.plane.tokenFile("relay") } };
      await writeClustersFile(functionsFile, entry);
      await writeClustersFile(clustersFile, { ...entry, certificateAuthorityFile, signIn });
      platform = await startFunctionPlatform({
        project,
        folder: join(stage.folder, "platform"),
        environment: { ...stage.environment, CLUSTERS_FILE: functionsFile },
      });
    });
    afterEach(async () => {
      await platform?.close();
      await stage?.close();
    });

    async function startRelay(): Promise<Running> {
      const prefix = ["--function-prefix", "serverless-ccm-dev-"];
      const relay = stage.program(["relay", "--clusters-file", clustersFile, ...prefix, "--port", "0"], {
        AWS_ENDPOINT_URL_LAMBDA: platform.url,
      });
      await relay.line("Listed");
      return relay;
    }

    test(`${NODES} nodes come up, although the relay is killed in the middle of its writes`, async () => {
      const first = await startRelay();
      const joining = stage.join(NODES);
      await stage.untilWrites(100);
      await first.end("SIGKILL");
      const instances = await joining;
      const second = await startRelay();
      await stage.untilUp(instances);
      expect(await stage.flaws()).toEqual([]);
      const records = await stage.plane.record();
      const writers = records.filter(({ verb, resource }) => verb === "patch" && resource === "nodes");
      expect(
        [...new Set(writers.map(({ user }) => user))].filter((user) => user.startsWith("serverless")),
      ).toEqual(["serverless-ccm-node"]);
      expect(await second.end("SIGTERM")).toBe(0);
    });
  },
);
