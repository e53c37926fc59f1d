// Replaces the clouds that a bundle is built without. A function that calls no cloud only reads how clusters
// are configured; other builds are for some clouds only.

/** As in `clouds/aws/cloud.ts`. */
export const createAwsCloud = throwNoCloud;

/** As in `clouds/digitalocean/cloud.ts`. */
export const loadDigitalOceanCloud = throwNoCloud;

/** As in `clouds/hcloud/cloud.ts`. */
export const loadHcloudCloud = throwNoCloud;

/** As in `clouds/keepalived/cloud.ts`. */
export const createKeepalivedCloud = throwNoCloud;

/** As in `clouds/kubevip/cloud.ts`. */
export const createKubeVipCloud = throwNoCloud;

/** As in `clouds/memory/cloud.ts`. */
export const createMemoryCloud = throwNoCloud;

/** As in `clouds/memory/cloud.ts`. */
export const readMemoryInstances = throwNoCloud;

/** As in `clouds/no-cloud/cloud.ts`. */
export const createNoCloud = throwNoCloud;

/** As in `clouds/rancher/cloud.ts`. */
export const loadRancherCloud = throwNoCloud;

/** As in `clouds/oci/cloud.ts`. */
export const loadOciCloud = throwNoCloud;

/** As in `clouds/openstack/cloud.ts`. */
export const loadOpenStackCloud = throwNoCloud;

function throwNoCloud(): never {
  throw new Error(
    "this function was built without this cloud; npm run build -- --clouds names those that it has",
  );
}
