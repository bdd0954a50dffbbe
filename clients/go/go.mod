module emissary

go 1.19
