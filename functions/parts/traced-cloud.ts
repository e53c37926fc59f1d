import type { Capability, Cloud, OnCloudRequest } from "#clouds/cloud.ts";

/** The same cloud, of whose requests somebody is told. */
export function tracedCloud(cloud: Cloud, onRequest: OnCloudRequest): Cloud {
  const { capabilities } = cloud;
  return {
    provider: cloud.provider,
    instances: (nodes, call) => cloud.instances(nodes, { ...call, onRequest }),
    ...(capabilities === undefined
      ? {}
      : {
          capabilities: Object.fromEntries(
            Object.entries(capabilities).map(([name, capability]) => [
              name,
              capability && tracedCapability(capability, onRequest),
            ]),
          ),
        }),
    close: () => cloud.close(),
  };
}

function tracedCapability(capability: Capability, onRequest: OnCloudRequest): Capability {
  return {
    observe: (questions, call) => capability.observe(questions, { ...call, onRequest }),
    act: (action, call) => capability.act(action, { ...call, onRequest }),
  };
}
