import { memory } from "#clouds/memory/provider.ts";
import { connectTestCloud, type TestCloud } from "#test/upstream/integration/test-cloud.ts";

// The CLI of serverless-ccm, with the cloud of a Go test in place of the memory cloud: `instancesFile` is the
// URL of that cloud. It ends with its standard input, so that it never outlives the Go test.

let connected: TestCloud | undefined;
Object.assign(memory, {
  async load({ instancesFile }: { readonly instancesFile: string }) {
    connected ??= connectTestCloud(instancesFile);
    return connected.cloud;
  },
  async importLoadBalancerModel() {
    if (connected === undefined) throw new Error("the test's cloud is not connected yet");
    return connected.loadBalancerModel;
  },
});

process.stdin.once("end", () => process.exit(1)).resume();
// The open pipe alone keeps no process running.
if ("unref" in process.stdin) process.stdin.unref();
await import("#cli/main.ts");
