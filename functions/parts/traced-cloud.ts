import type { Capability, Cloud, OnCloudRequest } from "#clouds/cloud.ts";

/** Wraps a cloud so that each request is reported to `onRequest`. */
export function traceCloud(cloud: Cloud, onRequest: OnCloudRequest): Cloud {
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
              capability && traceCapability(capability, onRequest),
            ]),
          ),
        }),
    close: () => cloud.close(),
  };
}

function traceCapability(capability: Capability, onRequest: OnCloudRequest): Capability {
  return {
    observe: (questions, call) => capability.observe(questions, { ...call, onRequest }),
    act: (action, call) => capability.act(action, { ...call, onRequest }),
  };
}
