import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Contender } from "#bench/contenders/contender.ts";
import { createRunningContender } from "#bench/contenders/process-contender.ts";
import type { ContenderName } from "#bench/measurement.ts";
import { ZONE_ID_LABEL } from "#clouds/aws/zones.ts";
import { INSTANCE_ANNOTATION, LABEL_PAIRS } from "#core/contracts.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { startProcess } from "#emulators/harness/managed-process.ts";

/** Creates the floor program; with Events if the contenders in the same row write them. */
export function createFloorContender(name: ContenderName, withEvents: boolean): Contender {
  return {
    name,
    title: `a Go loop that only watches and writes: two patches a node${withEvents ? " and one Event" : ""}`,
    users: [CONTROL_PLANE_USERS.relay.name, CONTROL_PLANE_USERS.node.name],
    async start({ stage, programs, instances }) {
      const table = join(stage.folder, "table.json");
      const entries = instances.map((each) => [each.privateDnsName, buildEntry(each, stage.ec2)]);
      await writeFile(table, JSON.stringify(Object.fromEntries(entries)));
      const program = startProcess(programs.floor, [
        `--server=${stage.plane.server}`,
        `--certificate-authority=${stage.plane.certificateAuthorityFile}`,
        `--relay-token-file=${stage.plane.tokenFile("relay")}`,
        `--functions-token-file=${stage.plane.tokenFile("node")}`,
        `--table=${table}`,
        `--events=${withEvents}`,
      ]);
      return createRunningContender([program]);
    },
  };
}

function buildEntry(
  instance: Ec2Instance,
  { region, account }: { region: string; account: string },
): unknown {
  const { id, availabilityZone, instanceType, privateDnsName, privateIpAddress, vpcId } = instance;
  const values = [instanceType, availabilityZone, region];
  const pairs = LABEL_PAIRS.flatMap(({ beta, stable }, index) => [
    [beta, values[index]],
    [stable, values[index]],
  ]);
  return {
    providerID: `aws:///${availabilityZone}/${id}`,
    addresses: [
      { type: "InternalIP", address: privateIpAddress },
      { type: "InternalDNS", address: privateDnsName },
      { type: "Hostname", address: privateDnsName },
    ],
    labels: { ...Object.fromEntries(pairs), [ZONE_ID_LABEL]: instance.availabilityZoneId },
    annotations: { [INSTANCE_ANNOTATION]: `${account}/${vpcId}/${id}` },
  };
}
