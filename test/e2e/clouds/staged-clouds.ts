import { stageAws } from "#test/e2e/clouds/aws.ts";
import { stageDigitalOcean } from "#test/e2e/clouds/digitalocean.ts";
import { stageHcloud } from "#test/e2e/clouds/hcloud.ts";
import { stageKeepalived } from "#test/e2e/clouds/keepalived.ts";
import { stageKubeVip } from "#test/e2e/clouds/kubevip.ts";
import { stageNoCloud } from "#test/e2e/clouds/no-cloud.ts";
import { stageOci } from "#test/e2e/clouds/oci.ts";
import { stageOpenStack } from "#test/e2e/clouds/openstack.ts";
import { stageRancher } from "#test/e2e/clouds/rancher.ts";
import { stageRancherCattle } from "#test/e2e/clouds/rancher-cattle.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

/** Each cloud for a whole control plane, by name. */
export const STAGED_CLOUDS: Readonly<Record<string, () => Promise<StagedCloud>>> = {
  aws: stageAws,
  digitalocean: stageDigitalOcean,
  hcloud: stageHcloud,
  keepalived: stageKeepalived,
  kubevip: stageKubeVip,
  "no-cloud": stageNoCloud,
  oci: stageOci,
  openstack: stageOpenStack,
  rancher: stageRancher,
  "rancher-cattle": stageRancherCattle,
};
