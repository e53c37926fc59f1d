import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { startEc2 } from "#emulators/ec2/server.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

const SECRET = "the-secret-key-of-no-user";

export async function stageAws(): Promise<StagedCloud> {
  const ec2 = await startEc2();
  return {
    provider: "aws",
    secrets: [SECRET],
    config: { region: ec2.region, vpc: DEFAULT_VPC_ID },
    environment: {
      AWS_REGION: ec2.region,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_EC2_METADATA_DISABLED: "true",
      AWS_ENDPOINT_URL_EC2: ec2.url,
    },
    add() {
      const {
        id,
        privateDnsName: name,
        privateIpAddress,
        availabilityZone: zone,
        instanceType,
      } = ec2.addInstance();
      return {
        name,
        providerID: `aws:///${zone}/${id}`,
        addresses: [`InternalIP ${privateIpAddress}`, `InternalDNS ${name}`, `Hostname ${name}`],
        type: instanceType,
        region: ec2.region,
        zone,
      };
    },
    remove({ providerID }) {
      ec2.terminate(providerID.split("/").at(-1) ?? "");
    },
    requests: () => ec2.record().length,
    // Those tests use moto, which is mended for them.
    loadBalancers: "npm run test:crash-consistency",
    close: () => ec2.close(),
  };
}
