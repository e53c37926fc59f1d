// What a bundle has in the place of the clouds that it is built without: those of a function that asks no cloud, which reads how clusters are
// configured, and that is all; and the others where a build is for some clouds alone.

/** As in `clouds/aws/cloud.ts`. */
export const createAwsCloud = noCloud;

/** As in `clouds/digitalocean/cloud.ts`. */
export const loadDigitalOceanCloud = noCloud;

/** As in `clouds/hcloud/cloud.ts`. */
export const loadHcloudCloud = noCloud;

/** As in `clouds/keepalived/cloud.ts`. */
export const createKeepalivedCloud = noCloud;

/** As in `clouds/kubevip/cloud.ts`. */
export const createKubeVipCloud = noCloud;

/** As in `clouds/memory/cloud.ts`. */
export const createMemoryCloud = noCloud;

/** As in `clouds/memory/cloud.ts`. */
export const readMemoryInstances = noCloud;

/** As in `clouds/no-cloud/cloud.ts`. */
export const createNoCloud = noCloud;

/** As in `clouds/rancher/cloud.ts`. */
export const loadRancherCloud = noCloud;

/** As in `clouds/oci/cloud.ts`. */
export const loadOciCloud = noCloud;

/** As in `clouds/openstack/cloud.ts`. */
export const loadOpenStackCloud = noCloud;

function noCloud(): never {
  throw new Error(
    "this function was built without this cloud; npm run build -- --clouds names those that it has",
  );
}
