module serverless-ccm.bench/floor

go 1.26
