// The clients as `import * as` loads them.
export * as ec2 from "@aws-sdk/client-ec2";
export * as lambda from "@aws-sdk/client-lambda";
export * as sts from "@aws-sdk/client-sts";
