import { stageDigitalOcean } from "#test/e2e/clouds/digitalocean.ts";
import { stageHcloud } from "#test/e2e/clouds/hcloud.ts";
import { stageOci } from "#test/e2e/clouds/oci.ts";
import { stageOpenStack } from "#test/e2e/clouds/openstack.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

/** By provider, each cloud that a whole control plane is played with. */
export const STAGED_CLOUDS: Readonly<Record<string, () => Promise<StagedCloud>>> = {
  digitalocean: stageDigitalOcean,
  hcloud: stageHcloud,
  oci: stageOci,
  openstack: stageOpenStack,
};
