import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { Api } from "#clouds/http/api.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Sources } from "#clouds/listed/sources.ts";

/** Inputs of an observation of load balancers. */
export interface ObserveContext {
  readonly config: DigitalOceanCloudConfig;
  readonly api: Api;
  readonly sources: Sources<Droplet>;
  readonly callContext: CallContext;
}
